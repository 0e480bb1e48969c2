"""Unit files as systemd reads and merges them.

``unit_file`` reads one file, ``merge`` makes one configuration of the files of a unit, ``names``
knows what unit names mean, ``command_lines`` takes ``Exec…=`` apart.
"""
