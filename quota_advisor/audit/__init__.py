"""The ``audit`` verb: from the facts of a host to a report.

``host`` watches a host or reads a snapshot; ``judge`` runs the rules over the facts.
"""
