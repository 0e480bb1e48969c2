"""The one decision about a workload's quota, made before anything is shown."""
