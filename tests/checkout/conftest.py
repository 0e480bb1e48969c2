"""Lint as a user would call it: its fixtures serve here too."""

from tests.lint.conftest import lint, repository

__all__ = ["lint", "repository"]
