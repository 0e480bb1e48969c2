"""Rules about unit files and quadlets."""
