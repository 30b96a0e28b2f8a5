"""Properties of the command gate that hold for any text."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.sizes import examples
from xun_policies import defaults
from xun_policies.commands import CommandScope, evaluate
from xun_policies.explain import columns_of
from xun_policies.store import PolicyState

SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")
REPOSITORY = str(Path(__file__).parents[2])
HERE = CommandScope(REPOSITORY, (REPOSITORY,), "/home/dev", "/usr/local/bin:/usr/bin:/bin")
ROWS = [
    json.loads(line)["command"]
    for line in (Path(__file__).parents[1] / "corpus/commands.jsonl").read_text("utf-8").splitlines()
]
SIGNS = [
    *" \t\n'\"\\$`{}(),;|&<>#*?[]~!=-./:@%^+0123",
    "ls",
    "cat",
    "git",
    "status",
    "echo",
    "sed",
    "-n",
    "a.txt",
    "2>&1",
    "/dev/null",
]
PIECES = st.lists(st.sampled_from(SIGNS), max_size=25).map("".join)
TEXTS = st.one_of(
    st.text(max_size=80), PIECES, st.sampled_from(ROWS), st.tuples(st.sampled_from(ROWS), PIECES).map("".join)
)


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, st.sampled_from([SCOPE, HERE]))
def test_it_never_raises_and_always_explains(text: str, scope: CommandScope) -> None:
    verdict = evaluate(text, PolicyState(), scope)
    assert verdict.text == text
    assert all(columns_of(line) <= 60 for line in verdict.explain(60).split("\n"))
    assert verdict.allowed or (verdict.reason and verdict.segments)
    assert json.loads(json.dumps(verdict.to_json()))["decision"] == verdict.decision.word


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS)
def test_allow_means_that_each_command_is_listed(text: str) -> None:
    verdict = evaluate(text, PolicyState(), SCOPE)
    listed = set(defaults.rules()) | {tokens[0] for tokens in defaults.versions()}
    if verdict.allowed:
        commands = [segment for segment in verdict.segments if segment.kind == "command"]
        assert commands
        assert all(segment.argv[0] in listed for segment in commands)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.sampled_from(ROWS),
    st.sampled_from(["$(id)", "`id`", "${x}", "$x", "\nls", "> x", ">>x", "< a", "& ls", "<(ls)"]),
)
def test_live_syntax_at_the_end_always_asks(text: str, tail: str) -> None:
    verdict = evaluate(f"{text} {tail}", PolicyState(), SCOPE)
    if not text.strip():
        return
    quoted = text.count("'") % 2 or text.count('"') % 2 or "#" in text
    assert quoted or not verdict.allowed


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS)
def test_what_was_offered_and_granted_is_then_allowed(text: str) -> None:
    policy = PolicyState()
    verdict = evaluate(text, policy, SCOPE)
    for grant in verdict.grants:
        policy.command_allowlist.add(grant.tokens, grant.exact)
    if verdict.grants:
        assert evaluate(text, policy, SCOPE).allowed


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(list("{}{},..ab'\"\\12")), min_size=2, max_size=12).map("".join))
def test_bash_makes_the_words_of_a_text_that_passes(word: str) -> None:
    verdict = evaluate(f"echo x{word}", PolicyState(), SCOPE)
    if not verdict.allowed:
        return
    done = subprocess.run(["bash", "--norc", "-c", f"printf '%s\\0' x{word}"], capture_output=True, check=False)
    assert done.stdout.decode().split("\0")[:-1] == list(verdict.segments[0].argv[1:])
