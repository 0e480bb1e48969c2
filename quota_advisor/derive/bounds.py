"""What a share could be at least, judged from a sample of it.

Ten throttled periods of ten say more than one of one. A share is held against a threshold by the
lower end of a one-sided 95 % interval, so that no minimum count is needed: few periods give a low
bound by themselves.
"""

from __future__ import annotations

import math
from functools import lru_cache

CONFIDENCE = 0.95
"""One-sided: in one of twenty samples the true share is below the bound."""

_TINY = 1e-300
_PRECISION = 1e-12
_MAX_TERMS = 500
_HALVINGS = 40
_DECIMALS = 9
"""Of a bound. The C library's logarithms differ in their last bits from CPU to CPU; a report on the
same counts has to be the same everywhere."""


@lru_cache(maxsize=1024)
def lower_bound_ratio(hits: float, trials: float, *, confidence: float = CONFIDENCE) -> float:
    """Return the exact binomial (Clopper-Pearson) lower bound of a share.

    Args:
        hits: How often it happened; fractions come from :func:`deflated`.
        trials: Of how many; at least as many as hits.
        confidence: Of the one-sided interval.

    Source: the bound is the quantile of Beta(hits, trials - hits + 1), Clopper and Pearson 1934.
    """
    if hits <= 0 or trials <= 0:
        return 0.0
    if hits >= trials:
        # Nothing else happened: the beta function has a plain form.
        return float(round((1 - confidence) ** (1 / trials), _DECIMALS))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _beta_share(hits, trials - hits + 1, middle) < 1 - confidence:
            low = middle
        else:
            high = middle
    return round(low, _DECIMALS)


def deflated(hits: float, trials: float, correlation_ratio: float) -> tuple[float, float]:
    """Return counts as independent ones would be that say as much.

    Throttled periods come in runs: ten in a row are nearer to one observation than to ten.

    Args:
        hits: How often it happened.
        trials: Of how many.
        correlation_ratio: Of each with the one before it, from 0 to below 1; what is below 0
            counts as 0, since alternating outcomes are no reason for more confidence.
    """
    rho = min(max(correlation_ratio, 0.0), 0.99)
    factor = (1 + rho) / (1 - rho)
    return hits / factor, trials / factor


def _beta_share(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function: the share of Beta(a, b) below ``x``."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    front = math.exp(log_front)
    # The fraction converges fast on this side of the mean only; the other is its mirror image.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, _inverse(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = _inverse(1 + term * d)
            c = 1 + term / (c if abs(c) > _TINY else _TINY)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _inverse(value: float) -> float:
    return 1 / (value if abs(value) > _TINY else _TINY)
