"""Find CPU quotas that hurt, say what they should be, and prove it."""

__version__ = "0.1.0"
