"""Read the host. Collectors return facts and never judge them."""
