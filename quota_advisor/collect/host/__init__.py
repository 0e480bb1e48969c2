"""Read a host: cgroups, units, containers, the machine."""
