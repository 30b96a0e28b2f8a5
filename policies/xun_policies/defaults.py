"""The built-in command allowlist: read-only data, each entry with its guard and examples."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from xun_policies.guards.rules import Rule


@cache
def rules() -> dict[str, tuple[Rule, ...]]:
    """Return the built-in rules by executable, longest prefix first."""
    from xun_policies.guards import data_git, data_search, data_system, data_text

    table: dict[str, list[Rule]] = {}
    for rule in (*data_text.RULES, *data_search.RULES, *data_git.RULES, *data_system.RULES):
        table.setdefault(rule.prefix[0], []).append(rule)
    return {name: tuple(sorted(found, key=lambda rule: -len(rule.prefix))) for name, found in table.items()}


@cache
def _by_prefix() -> dict[tuple[str, ...], Rule]:
    return {rule.prefix: rule for found in rules().values() for rule in found}


def find(tokens: tuple[str, ...]) -> Rule | None:
    """Return the built-in rule with the longest prefix of *tokens*, or None."""
    known = _by_prefix()
    return known.get(tokens[:3]) or known.get(tokens[:2]) or known.get(tokens[:1])


@cache
def versions() -> frozenset[tuple[str, ...]]:
    """Return the commands that are free as they stand, such as ``("python", "--version")``."""
    from xun_policies.guards.data_system import VERSIONS

    return frozenset(VERSIONS)


def answers(tokens: tuple[str, ...]) -> bool:
    """Tell whether *tokens* only ask a listed program for its version or help."""
    if tokens[1:] != ("--version",) and tokens[1:] != ("--help",):
        return False
    from xun_policies.guards.data_system import ANSWERING

    return tokens[0] in ANSWERING


@cache
def prefixes() -> tuple[str, ...]:
    """Return every built-in prefix as text, in alphabetical order; ``X --version`` entries are whole commands."""
    names = {rule.name for found in rules().values() for rule in found}
    return tuple(sorted(names | {" ".join(tokens) for tokens in versions()}))
