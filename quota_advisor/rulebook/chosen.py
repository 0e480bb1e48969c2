"""The rules to run, with the settings of the user."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from quota_advisor.errors import CollectError
from quota_advisor.records import dataclass
from quota_advisor.rulebook.catalogue import Catalog, load_catalog
from quota_advisor.rulebook.settings import Config, apply_config, find_config, select_rules


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules to run and the settings that go with them.

    Attributes:
        rules: With the user's settings.
        config: The user's settings.
        chosen: The rules that the options leave, as shipped.
        select: Rules that the options ask for by name.
    """

    rules: Catalog
    config: Config
    chosen: Catalog = field(default_factory=dict)
    select: tuple[str, ...] = ()


def load_rulebook(
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    config: Path | None = None,
    *,
    use_config: bool = True,
    heed_suppressions: bool = True,
) -> Rulebook:
    """Return the rules that configuration and options leave.

    Args:
        select: Run only these rules; all where there is none.
        ignore: Leave these out.
        config: Configuration file; None looks for one here and above.
        use_config: Whether any counts: what strangers wrote may not say how it is judged.
        heed_suppressions: Whether anything but a baseline may leave findings out.

    Raises:
        ConfigError, UsageError: As the configuration or the options say.
    """
    catalog = load_catalog()
    path = (config or find_config(_here())) if use_config else None
    settings = Config() if path is None else _load_config(path, catalog, found=config is None)
    if not heed_suppressions:
        settings = dataclasses.replace(settings, suppress=(), heed_comments=False)
    chosen = select_rules(catalog, select, ignore)
    rules = apply_config(chosen, settings, keep=select)
    return Rulebook(rules, settings, chosen, tuple(select))


def _here() -> Path:
    """Return the working directory.

    Raises:
        CollectError: It was deleted.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise CollectError("the working directory is gone", hint="change to another") from error


def _load_config(path: Path, catalog: Catalog, *, found: bool) -> Config:
    # Only a run with a configuration file pays for what checks it.
    from quota_advisor.rulebook.settings_file import load_config  # noqa: PLC0415

    return load_config(path, catalog, found=found)
