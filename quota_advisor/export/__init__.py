"""What this host tells Prometheus: counters as the kernel has them, never a ratio of totals."""
