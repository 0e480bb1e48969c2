"""Rules about machines and about the workloads that run on them."""
