"""The ``audit`` verb: from the facts of a host to a report.

``host`` watches a host; ``judge`` runs the rules over the facts; ``snapshot`` keeps the facts in a
file, ``redact`` without secrets, and judges them again.
"""
