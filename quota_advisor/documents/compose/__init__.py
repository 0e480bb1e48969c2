"""Compose files as services.

``recognise`` tells compose files from others, ``layer`` reads one document, ``merge`` resolves
``extends`` and lays documents over each other. ``keys`` and ``unknown_keys`` are about keys of CPU,
``values`` is about what they mean.
"""
