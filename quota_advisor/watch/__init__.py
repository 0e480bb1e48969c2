"""Live: what is held back right now, worst first."""
