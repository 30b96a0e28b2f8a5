"""The inline front end: prompt_toolkit in the terminal's normal screen buffer."""

from xun_cli.repl.app import run_repl

__all__ = ["run_repl"]
