"""Measures quotas on this very node: real load, real bandwidth control, real latencies."""
