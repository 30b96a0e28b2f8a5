"""Environments: where commands and code of an agent run."""
