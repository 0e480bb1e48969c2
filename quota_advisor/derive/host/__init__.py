"""What rules about running workloads look at."""
