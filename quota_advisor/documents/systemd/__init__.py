"""Unit files as systemd reads and merges them."""
