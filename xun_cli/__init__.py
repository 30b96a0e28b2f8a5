"""The terminal agent."""
