"""/review: have the model look over changes before a person does."""

from __future__ import annotations

from xun_cli.commands.output import CommandResult
from xun_cli.commands.registry import CommandContext, SlashCommand

USUAL = "what is not committed: git diff HEAD, and the new files that git status names"
"""What is looked over when nothing is named."""

PROMPT = """Review {what}. Change nothing.
Look for what would hurt: wrong results, lost data, holes in security, races, callers that no longer fit, tests that
are missing or can't fail. Read the code around a change before you judge it, and leave out matters of taste.
Answer with the findings, the worst first: path:line, which input or order of events makes it go wrong, and how to mend
it. If there are none, say so, and what you looked at."""


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "review",
            "/review [WHAT]",
            "have the model look for mistakes in your changes",
            _review,
            topic="Changes",
            details="Without WHAT, all that is not committed. WHAT is in your own words: /review the last commit, "
            "/review this branch against main, /review src/auth.py with an eye on races.",
        )
    ]


async def _review(ctx: CommandContext, rest: str) -> CommandResult:
    return CommandResult(action="submit", data=PROMPT.format(what=" ".join(rest.split()) or USUAL))
