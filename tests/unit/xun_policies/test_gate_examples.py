"""Every built-in rule carries examples; here they are checked."""

from __future__ import annotations

import pytest

from xun_policies import defaults
from xun_policies.commands import CommandScope, evaluate
from xun_policies.guards.checks import CHECKS
from xun_policies.guards.rules import Rule
from xun_policies.store import PolicyState

SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")
RULES: list[Rule] = [rule for found in defaults.rules().values() for rule in found]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_examples_of(rule: Rule) -> None:
    assert rule.allows, "a rule needs an example that matches"
    assert rule.asks or rule.free, "a rule needs an example that does not match"
    assert [text for text in rule.allows if not evaluate(text, PolicyState(), SCOPE).allowed] == []
    assert [text for text in rule.asks if evaluate(text, PolicyState(), SCOPE).allowed] == []


def test_every_check_is_used_and_known() -> None:
    used = {rule.check for rule in RULES if rule.check}
    assert used - {"cd"} == set(CHECKS)


@pytest.mark.parametrize("tokens", sorted(defaults.versions()), ids=" ".join)
def test_version_queries_are_exact(tokens: tuple[str, ...]) -> None:
    text = " ".join(tokens)
    assert evaluate(text, PolicyState(), SCOPE).allowed
    assert not evaluate(f"{text} x", PolicyState(), SCOPE).allowed


def test_prefixes_can_be_excluded() -> None:
    for name in defaults.prefixes():
        policy = PolicyState()
        policy.excluded.add(name)
        sample = next((rule.allows[0] for rule in RULES if rule.name == name), name)
        assert not evaluate(sample, policy, SCOPE).allowed, name
