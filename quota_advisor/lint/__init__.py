"""The ``lint`` verb: from files to a report."""
