"""The shell parser of the command gate."""
