"""The help of ``xun``, and what a wrong command line comes to.

The help is written by hand, to fit one screen; a test holds it to the parser. Nothing heavy is
imported here: a help text should be there at once.
"""

from __future__ import annotations

import sys

from xun_cli.exit_codes import BAD_CALL

HELP = """\
usage: xun [OPTIONS] [PROMPT]   work in this folder, interactively
       xun -p [OPTIONS] PROMPT  answer once on stdout; xun run FILE: from FILE
       xun COMMAND [-h]         sessions policy tool tools config doctor setup
                                init completion acp mcp
session
  -c, --continue       go on with the last session here  (default: a new one)
  -r, --resume [ID]    go on with a session by id or name  (no ID: choose one)
  --fork               go on in a copy of it  (default: off)
  --no-session         store nothing  (default: stored)
  -C DIR               work in DIR  (default: .)
  --add-dir DIR        let the tools use DIR too, repeatable  (default: none)
model and settings
  -m, --model MODEL    a name, or scripted:FILE  (default: the setting "model")
  -i, --image FILE     show the model an image, repeatable  (default: none)
  --demo               the offline demo  (default: only when nothing is set up)
  --config KEY=VALUE   repeatable; --profile NAME: a named set  (default: none)
  --safe, --trust      ignore or trust the project's settings  (default: asks)
permissions
  --mode MODE          ask, plan or auto-edit  (default: ask)
  --allow-command CMD  run what begins with CMD unasked  (default: none)
  --allow-write PATH   write PATH and below unasked  (default: none)
  --policy FILE        lists as `xun policy export` writes them  (default: none)
  --sandbox MODE       around commands: auto, required, off  (default: auto)
  --auto-confirm       give ordinary questions their default  (default: off)
screen
  --tui MODE           inline, full or plain  (default: inline)
  --screen-reader, --no-color, --debug  (default: off)
headless: -p, --print, or run; stdin is added to the prompt
  --output FORMAT      text, json, stream-json  (default: text)
  --input FORMAT       text, stream-json  (default: text)
  --on-ask WHAT        what a question does: deny or fail  (default: deny)
  --schema FILE        the answer meets this JSON schema  (default: free text)
  --last FILE          write the answer to FILE, too  (default: none)
  --max-steps N, --max-cost USD, --timeout SECONDS  (default: 512, none, none)
  -V, --version and -h, --help print and exit
examples: xun "why does test_login fail?"
          git diff | xun -p --output json "review this"
          xun -p --allow-write . --allow-command "npm test" "fix the tests"
"""

COMMANDS = (
    "sessions",
    "policy",
    "tool",
    "tools",
    "mcp",
    "acp",
    "config",
    "doctor",
    "setup",
    "init",
    "completion",
    "run",
)
"""The words that are commands when they come first."""


class UsageError(Exception):
    """The command line is wrong; the text is one sentence."""


def usage_error(message: str, command: str = "xun") -> int:
    """Print the one sentence of a wrong command line and return exit code 2."""
    from xun_cli.render.safe import safe

    sys.stderr.write(f"{command}: {safe(message, multiline=False)} (see `{command} -h`)\n")
    return BAD_CALL
