"""Our own rows of the kinds of the command corpus: no wrong allow ever, 97 of 100 allows of every large kind."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
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


@cache
def policy() -> PolicyState:
    """Nothing is ever granted in it; it remembers what evaluations looked up."""
    return PolicyState()


def verdict(command: str) -> CommandVerdict:
    return evaluate(command, policy(), SCOPE)


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
    for row in [*own[::5], *rows("commands.jsonl")[::2]]:
        found = verdict(row["command"])
        if not found.grants:
            assert found.allowed or found.grant_refused
            continue
        offered += 1
        granted = PolicyState()
        for grant in found.grants:
            assert grant.exact or len(grant.tokens) > 1 or grant.tokens[0].rpartition("/")[2] not in RUNS_ANYTHING
            granted.command_allowlist.add(grant.tokens, grant.exact)
        assert evaluate(row["command"], granted, SCOPE).allowed, row["command"]
        # What follows an exact grant is another command, and no grant waives the rules of syntax and paths.
        for more in (" > x", "; rm -rf y", " $(touch x)", "; cat ../../x") if "#" not in row["command"] else ():
            assert not evaluate(row["command"].rstrip() + more, granted, SCOPE).allowed, row["command"]
    assert offered > 250


AROUND = (
    "ls && {}",
    "({})",
    "ls || {}",
    "{} && ls",
    "{} ; ls",
    "CI=1 {}",
    "ls | {}",
    "{} | cat",
    "git status; {} || true",
)
UNFINISHED = ("parse_error", "comment_trick", "quote_tricks")


def test_what_stands_around_a_command_does_not_make_it_free(own: list[dict[str, Any]]) -> None:
    asks = [row for row in [*own[::9], *rows("commands.jsonl")[::6]] if row["expect"] == "ask"]
    texts = [form.replace("{}", row["command"]) for row in asks if row["kind"] not in UNFINISHED for form in AROUND]
    assert len(texts) > 3000
    assert [text for text in texts if verdict(text).allowed] == []


def test_what_stands_around_a_free_command_asks_nothing_more(own: list[dict[str, Any]]) -> None:
    free = [
        row["command"]
        for row in own[::3]
        if row["expect"] == "allow" and verdict(row["command"]).allowed and not set(row["command"]) & set("#\n(")
    ]
    texts = [
        form.replace("{}", text if text.endswith("\\;") else text.rstrip("; "))
        for text in free
        for form in AROUND
        if form not in ("CI=1 {}",)
    ]
    assert [text for text in texts if not verdict(text).allowed] == []
