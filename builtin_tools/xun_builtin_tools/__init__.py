"""The tools that ship with xun, by group."""
