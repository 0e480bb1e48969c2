"""Documents that hold limits, parsed with the place of every value.

``reader`` takes a whole file of YAML or JSON and yields models; the folders hold its parts:

- ``yaml/``: text → tree. Three readers (native, exact YAML, exact JSON) that make the same tree.
- ``kubernetes/``, ``compose/``: tree → models; each has its tables of keys in ``keys.py``.
- ``systemd/``: unit files, which need no tree.
"""
