"""``xun completion``: a completion script for a shell, made from the parser itself."""

from __future__ import annotations

import sys
from typing import Any

from xun_cli.arguments import make_parser
from xun_cli.subcommands.common import Parser
from xun_cli.usage import COMMANDS

WORDS = {
    "sessions": ("list", "search", "show", "export", "delete", "prune"),
    "policy": ("show", "test", "test-write", "allow", "remove", "reset", "undo", "log", "export", "import"),
    "tools": ("check",),
    "mcp": ("serve",),
    "config": ("show", "path", "set", "check"),
    "completion": ("bash", "zsh", "fish"),
}
"""The second words of the commands that have some."""

_FILES = frozenset({"--policy", "--schema", "--last"})
_FOLDERS = frozenset({"-C", "--add-dir"})
_PATHS = frozenset({"--allow-write"})


def main(argv: list[str]) -> int:
    """Run ``xun completion`` with the arguments *argv*."""
    parser = Parser(
        prog="xun completion",
        description="Print a completion script: bash: source <(xun completion bash); "
        "zsh: a file _xun in $fpath; fish: ~/.config/fish/completions/xun.fish",
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    shell = parser.parse_args(argv).shell
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[shell]())
    return 0


def options() -> list[tuple[tuple[str, ...], tuple[str, ...], bool]]:
    """Return each option's names, the values it takes (empty for free ones), and whether it takes one at all."""
    found = []
    for action in make_parser()._actions:
        if action.option_strings:
            values: tuple[Any, ...] = tuple(action.choices or ())
            found.append((tuple(action.option_strings), tuple(map(str, values)), action.nargs != 0))
    return found


def bash() -> str:
    """Return the script for bash."""
    names = " ".join(name for strings, _, _ in options() for name in strings)
    cases = []
    for strings, values, takes in options():
        kind = _kind(strings)
        if values:
            cases.append(
                f'    {"|".join(strings)}) COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$cur")); return ;;'
            )
        elif kind:
            flag = "-d" if kind == "folder" else "-f"
            cases.append(f'    {"|".join(strings)}) COMPREPLY=($(compgen {flag} -- "$cur")); return ;;')
        elif takes and "-r" not in strings:
            cases.append(f"    {'|'.join(strings)}) return ;;")
    words = "\n".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(second)}" -- "$cur")); return ;;'
        for name, second in WORDS.items()
    )
    body = "\n".join(cases)
    return f"""\
_xun() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  COMPREPLY=()
  case "$prev" in
{body}
  esac
  if [ "$COMP_CWORD" -eq 2 ]; then
    case "$prev" in
{words}
    run) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    esac
  fi
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "{names}" -- "$cur")) ;;
    *) if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$cur")); fi ;;
  esac
}}
complete -o bashdefault -o filenames -F _xun xun
"""


def zsh() -> str:
    """Return the script for zsh."""
    lines = []
    for strings, values, takes in options():
        for name in strings:
            argument = ""
            if values:
                argument = f":value:({' '.join(values)})"
            elif takes:
                argument = {"folder": ":folder:_files -/", "": ":value:"}.get(_kind(strings), ":file:_files")
            lines.append(f"    '*{name}{argument}'")
    cases = "\n".join(f"      {name}) _values 'command' {' '.join(second)} ;;" for name, second in WORDS.items())
    joined = " \\\n".join(lines)
    return f"""\
#compdef xun
_xun() {{
  local state
  _arguments -S \\
{joined} \\
    '1:command or prompt:({" ".join(COMMANDS)})' \\
    '*:: :->rest'
  if [ "$state" = rest ]; then
    case "$words[1]" in
{cases}
      run) _files ;;
    esac
  fi
}}
if [ "$funcstack[1]" = _xun ]; then _xun "$@"; else compdef _xun xun; fi
"""


def fish() -> str:
    """Return the script for fish."""
    lines = ["complete -c xun -f"]
    none = f"not __fish_seen_subcommand_from {' '.join(COMMANDS)}"
    lines.append(f"complete -c xun -n '{none}' -a '{' '.join(COMMANDS)}'")
    lines += [
        f"complete -c xun -n '__fish_seen_subcommand_from {name}' -a '{' '.join(second)}'"
        for name, second in WORDS.items()
    ]
    lines.append("complete -c xun -n '__fish_seen_subcommand_from run' -F")
    for strings, values, takes in options():
        flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in strings)
        argument = f" -x -a '{' '.join(values)}'" if values else ""
        if not values and takes and "-r" not in strings:
            argument = " -r -F" if _kind(strings) else " -x"
        lines.append(f"complete -c xun -n '{none}' {flags}{argument}")
    return "\n".join(lines) + "\n"


def _kind(strings: tuple[str, ...]) -> str:
    if _FOLDERS.intersection(strings):
        return "folder"
    return "file" if (_FILES | _PATHS).intersection(strings) else ""
