"""What rules look at, worked out from the facts once for each case."""
