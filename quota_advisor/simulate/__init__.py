"""Say what other quotas would have done to what was recorded."""
