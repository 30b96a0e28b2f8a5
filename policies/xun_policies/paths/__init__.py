"""Paths: canonical forms, opening without following links, and the names that need a question."""
