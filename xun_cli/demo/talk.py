"""What the demo says without any tool."""

from __future__ import annotations

from xun_cli.demo.results import Ask, Plan

WAYS_ON = (
    "To work with a real model:\n\n"
    "- set `OPENAI_API_KEY` (or `XUN_API_KEY`) and start xun again, or run `xun setup`;\n"
    "- or start a local server - Ollama (port 11434), LM Studio (1234), llama.cpp (8080), vLLM (8000) - "
    "and choose its model with `/model`."
)

EXAMPLES = (
    "- `list the files`, `show README.md`, `lines 10-20 of app.py`\n"
    "- `find TODO`, `grep main in src`, `find all python files`\n"
    "- `replace foo with bar in app.py`, `replace all foo with bar in app.py`\n"
    "- `create notes.txt with Hello`, `rename a.txt to b.txt`, `delete notes.txt`\n"
    "- `run the tests`, `run make build`, `git status`"
)


def say(text: str) -> Plan:
    """Plan nothing but an answer."""
    # A plan is a generator also when it makes no call.
    yield from ()
    return text


def help_(ask: Ask) -> Plan:
    """Say what the demo can do."""
    return say(
        "This is the offline demo. It has no language model: it knows some everyday requests by rules, and does "
        "them with the real tools in this folder, with the same questions as ever before something changes.\n\n"
        f"{EXAMPLES}\n\n"
        "`/policy` shows what may run unasked, `/undo` takes changes back, `/help` lists the commands.\n\n"
        f"{WAYS_ON}"
    )


def hello(ask: Ask) -> Plan:
    """Greet."""
    return say(f"Hello. I am the offline demo, without a language model, but with real tools. Try:\n\n{EXAMPLES}")


def thanks(ask: Ask) -> Plan:
    """Take thanks."""
    return say("You're welcome.")


def who(ask: Ask) -> Plan:
    """Say what answers here."""
    return say(
        "I am xun's offline demo: rules that were written beforehand. No language model answers here, and nothing "
        f"leaves this machine.\n\n{WAYS_ON}"
    )


def undo(ask: Ask) -> Plan:
    """Name the command that takes changes back."""
    return say("`/undo` takes back the file changes of the last turn; `/undo 3` those of the last three.")


def policy(ask: Ask) -> Plan:
    """Name the command for permissions."""
    return say(
        "`/policy` shows what may run or be written unasked, and changes it; "
        "`/policy test COMMAND` explains one command."
    )


def setup(ask: Ask) -> Plan:
    """Say how to get a real model."""
    return say(WAYS_ON)


def leave(ask: Ask) -> Plan:
    """Name the command that ends the session."""
    return say("`/quit` ends the session.")


def which_file(ask: Ask) -> Plan:
    """Ask for a file's name."""
    return say("Which file? Name it, for example `show README.md`; `list the files` shows what is here.")


def which_command(ask: Ask) -> Plan:
    """Ask for a command."""
    return say("Which command? Give it as you would type it in a shell, for example ``run `make build` ``.")


def unknown(ask: Ask) -> Plan:
    """Say that this is beyond the demo, and the next step."""
    return say(
        "That is beyond me: I am the offline demo, rules without a language model, so nothing was done. "
        f"What I do understand:\n\n{EXAMPLES}\n\n{WAYS_ON}"
    )
