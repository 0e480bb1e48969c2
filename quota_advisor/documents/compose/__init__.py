"""Compose files as services, layers and ``extends`` merged."""
