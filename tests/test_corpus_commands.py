"""The command corpus: no wrong allow ever, and at least 97 of 100 allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xun_policies.commands import CommandScope, evaluate
from xun_policies.store import PolicyState

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "corpus/commands.jsonl").read_text("utf-8").splitlines()
]
SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")


def decision(command: str) -> str:
    return evaluate(command, PolicyState(), SCOPE).decision.word


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in ROWS}))
def test_nothing_of_this_kind_is_wrongly_allowed(kind: str) -> None:
    asks = [row["command"] for row in ROWS if row["kind"] == kind and row["expect"] == "ask"]
    assert [command for command in asks if decision(command) != "ask"] == []


def test_at_least_97_of_100_allows_are_allowed() -> None:
    allows = [row["command"] for row in ROWS if row["expect"] == "allow"]
    asked = [command for command in allows if decision(command) != "allow"]
    assert len(asked) <= len(allows) * 3 // 100, asked


def test_grants_cover_what_they_are_offered_for() -> None:
    for row in ROWS:
        policy = PolicyState()
        verdict = evaluate(row["command"], policy, SCOPE)
        if not verdict.grants:
            continue
        for grant in verdict.grants:
            policy.command_allowlist.add(grant.tokens, grant.exact)
        assert evaluate(row["command"], policy, SCOPE).allowed, row["command"]


def test_what_fails_the_syntax_rules_offers_no_grant() -> None:
    for row in ROWS:
        verdict = evaluate(row["command"], PolicyState(), SCOPE)
        assert verdict.syntax_ok or (verdict.grants == () and verdict.grant_refused), row["command"]
