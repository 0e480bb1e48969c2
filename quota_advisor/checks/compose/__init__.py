"""Rules about compose services."""
