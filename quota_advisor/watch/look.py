"""A closer look while the view goes on: an audit of a few seconds, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from quota_advisor.audit.host import audit_host
from quota_advisor.errors import QuotaAdvisorError
from quota_advisor.files.writing import write_file
from quota_advisor.model.report import Report

WINDOW_SEC = 5.0


class Look:
    """One audit at a time.

    Attributes:
        said: What to tell the user about the last one that was saved.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._thread: threading.Thread | None = None
        self._report: Report | QuotaAdvisorError | None = None
        self.said = ""

    @property
    def is_running(self) -> bool:
        """Whether an audit is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, units: tuple[str, ...] = ()) -> None:
        """Audit the host, unless that is under way."""
        if not self.is_running:
            self._report = None
            self._run(lambda: self._audit(units))

    def save(self, file: Path) -> None:
        """Write a snapshot that audit snapshot can judge, unless an audit is under way."""
        if self.is_running:
            self.said = "still busy with the last look"
            return
        self.said = f"watching {WINDOW_SEC:g} s for a snapshot"
        self._run(lambda: self._write(file))

    def findings(self, path: str) -> list[str]:
        """Return what the last audit found about a group."""
        if self.is_running or self._report is None:
            return [f"findings    watching {WINDOW_SEC:g} s …"]
        if isinstance(self._report, QuotaAdvisorError):
            return [f"findings    {self._report}"]
        found = [f for f in self._report.results.findings if f.subject.cgroup == path]
        lines = [f"{f.severity:<10}  {f.message}  [{f.rule}]" for f in found]
        advised = dict.fromkeys(
            " ".join(f.recommendation.summary.split()) for f in found if f.recommendation
        )
        return [*lines, *(f"            → {text}" for text in advised)] or [
            f"findings    none in {WINDOW_SEC:g} s"
        ]

    def _run(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work, name="look", daemon=True)
        self._thread.start()

    def _audit(self, units: tuple[str, ...]) -> None:
        try:
            self._report = audit_host(root=self._root, window_sec=WINDOW_SEC, units=units)
        except QuotaAdvisorError as error:
            self._report = error

    def _write(self, file: Path) -> None:
        # What checks snapshots takes long to build, and few save one.
        from quota_advisor.audit.snapshot import snapshot_text  # noqa: PLC0415

        try:
            report = audit_host(root=self._root, window_sec=WINDOW_SEC)
            assert report.host is not None  # noqa: S101 - an audit of a host has one
            write_file(file, snapshot_text(report.host.facts), private=True)
        except QuotaAdvisorError as error:
            self.said = str(error)
        else:
            self.said = f"saved {file}"
