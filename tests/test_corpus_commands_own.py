"""Our own rows of the kinds of the command corpus: no wrong allow ever, 97 of 100 allows of every large kind."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from xun_policies.commands import CommandScope, CommandVerdict, evaluate
from xun_policies.store import PolicyState
from xun_policies.wordset import wordset

CORPUS = Path(__file__).parent / "corpus"
SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def own() -> list[dict[str, Any]]:
    return rows("commands_own.jsonl")


def verdict(command: str) -> CommandVerdict:
    return evaluate(command, PolicyState(), SCOPE)


def test_there_are_rows_of_every_kind_and_none_twice(own: list[dict[str, Any]]) -> None:
    given = rows("commands.jsonl")
    assert {row["kind"] for row in own} == {row["kind"] for row in given}
    texts = [row["command"] for row in own]
    assert len(set(texts)) == len(texts)
    assert not {row["command"] for row in given} & set(texts)


def test_nothing_is_wrongly_allowed(own: list[dict[str, Any]]) -> None:
    asks = [row for row in own if row["expect"] == "ask"]
    assert len(asks) > 4000
    assert [(row["kind"], row["command"]) for row in asks if verdict(row["command"]).allowed] == []


def test_97_of_100_allows_are_allowed_in_each_kind(own: list[dict[str, Any]]) -> None:
    asked: dict[str, list[str]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for row in own:
        if row["expect"] == "allow":
            counts[row["kind"]] += 1
            if not verdict(row["command"]).allowed:
                asked[row["kind"]].append(row["command"])
    assert sum(map(len, asked.values())) <= sum(counts.values()) // 100
    for kind, texts in asked.items():
        assert len(texts) <= max(1, counts[kind] * 3 // 100), (kind, texts)


RUNS_ANYTHING = wordset(
    "bash sh zsh dash fish ksh pwsh busybox python python2 python3 node deno bun perl ruby php lua java env sudo doas "
    "su command builtin exec eval source . xargs nice nohup timeout time watch stdbuf setsid find ssh npx awk gawk sed "
    "rm mv cp dd chmod curl wget tee vim less man git npm docker"
)


def test_after_a_grant_the_same_command_runs_unasked_and_no_grant_is_too_wide(own: list[dict[str, Any]]) -> None:
    offered = 0
    for row in [*own[::3], *rows("commands.jsonl")]:
        found = verdict(row["command"])
        if not found.grants:
            assert found.allowed or found.grant_refused
            continue
        offered += 1
        policy = PolicyState()
        for grant in found.grants:
            assert grant.exact or len(grant.tokens) > 1 or grant.tokens[0].rpartition("/")[2] not in RUNS_ANYTHING
            policy.command_allowlist.add(grant.tokens, grant.exact)
        assert evaluate(row["command"], policy, SCOPE).allowed, row["command"]
        # What follows an exact grant is another command, and no grant waives the rules of syntax and paths.
        for more in (" > x", "; rm -rf y", " $(touch x)", "; cat ../../x") if "#" not in row["command"] else ():
            assert not evaluate(row["command"].rstrip() + more, policy, SCOPE).allowed, row["command"]
    assert offered > 500
