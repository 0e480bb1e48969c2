"""Rules about drop-ins that others make void."""

from __future__ import annotations

import posixpath

from quota_advisor.checks.units.unit_files import QUOTA_KEYS
from quota_advisor.model.finding import Evidence, Related
from quota_advisor.model.limit import Missing
from quota_advisor.model.source import Location
from quota_advisor.model.unit import UnitConfig
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check

VENDOR = ("/usr/", "/lib/")


@check(UnitConfig)
def drop_in_overridden(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find a quota in one drop-in that another drop-in makes void."""
    fragment = config.fragment.path if not isinstance(config.fragment, Missing) else ""
    for judged in config.judged:
        loser, winner = judged.assignment, judged.overridden_by
        if winner is None or loser.key not in QUOTA_KEYS or loser.value == winner.value:
            continue
        if loser.location.file in (winner.location.file, fragment):
            continue
        if _is_default_of(config.name, loser.location.file, winner.location.file):
            continue
        yield Hit(
            message=(
                f"{loser.key}={loser.value} never applies: {winner.location.file} sets"
                f" {winner.key}={winner.value}, and drop-ins apply in the order of their file"
                " names whatever their directory"
            ),
            location=loser.value_location,
            related=(Related(location=winner.value_location, message="the drop-in that wins"),),
            evidence=(
                Evidence(
                    label="in force",
                    value=f"{winner.location.file}:{winner.location.line}",
                ),
            ),
        )


@check(UnitConfig)
def drop_in_never_read(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find CPU settings in files beside the drop-ins, which systemd passes over."""
    for passed in config.never_read:
        written = passed.assignment
        yield Hit(
            message=(
                f"{written.key}={written.value} is in {written.location.file}, which systemd never"
                f" reads: {passed.reason}"
            ),
            location=written.location,
        )


@check(UnitConfig)
def runtime_shadowed(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find a set-property --runtime file that an older persistent one of its name hides."""
    for hidden in config.hidden:
        runtime = hidden.path.startswith("/run/") or "/systemd/user.control/" in hidden.path
        if not runtime or not posixpath.basename(hidden.path).startswith("50-CPU"):
            continue
        yield Hit(
            message=(
                f"{hidden.path} has no effect: {hidden.hidden_by} has the same name and comes"
                " first, so the runtime change is undone by the next daemon-reload"
            ),
            location=Location(file=hidden.path, line=1, column=1),
            related=(
                Related(
                    location=Location(file=hidden.hidden_by, line=1, column=1),
                    message="the file that hides it",
                ),
            ),
            evidence=(Evidence(label="hidden by", value=hidden.hidden_by),),
        )


def _is_default_of(unit: str, loser: str, winner: str) -> bool:
    """Whether a drop-in is there to be overridden by that other one.

    So it is for a file of the vendor against one of the administrator, and for a drop-in of all
    units of a type, a template or a prefix against one of the unit itself.
    """
    if loser.startswith(VENDOR) and not winner.startswith(VENDOR):
        return True
    own = f"/{unit}.d/"
    return own in winner and own not in loser
