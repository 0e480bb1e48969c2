"""The files of a checkout that lint reads, found, told apart and put together."""
