"""Argument guards: for each listed command, the options and operands that are free."""
