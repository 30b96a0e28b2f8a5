"""Rendering: events and questions to styled lines, without any UI library.

Everything here is a pure function or a small state machine; front ends print what it returns.
"""
