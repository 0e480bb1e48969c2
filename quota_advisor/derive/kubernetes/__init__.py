"""What rules about pods look at."""
