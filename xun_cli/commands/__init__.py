"""Slash commands, free of any user interface: each returns data that a front end draws."""
