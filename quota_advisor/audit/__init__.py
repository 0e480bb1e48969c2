"""The ``audit`` verb: from the facts of a host to a report."""
