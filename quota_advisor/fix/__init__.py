"""Change files, only where the outcome is certain and only in one step."""
