"""Charts from plain numbers: as SVG, and with characters for a terminal."""
