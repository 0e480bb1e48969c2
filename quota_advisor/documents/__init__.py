"""Documents that hold limits, parsed with the place of every value."""
