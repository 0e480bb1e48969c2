"""systemd's own view of its units, over D-Bus."""

from quota_advisor.collect.host.systemd.bus import BusError, Manager, UnitBus
from quota_advisor.collect.host.systemd.connect import Adapter, connect
from quota_advisor.collect.host.systemd.units import read_units, read_version

__all__ = [
    "Adapter",
    "BusError",
    "Manager",
    "UnitBus",
    "connect",
    "read_units",
    "read_version",
]
