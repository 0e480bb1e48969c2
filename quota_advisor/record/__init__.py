"""Record what a cgroup uses, finely enough for the simulator."""
