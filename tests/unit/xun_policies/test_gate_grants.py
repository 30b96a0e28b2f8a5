"""What is offered when a person grants, and what a grant then lets through."""

from __future__ import annotations

import pytest

from xun_policies.commands import CommandGrant, CommandScope, CommandVerdict, evaluate, join_words
from xun_policies.grant_tables import NEVER
from xun_policies.grants import is_wide
from xun_policies.store import PolicyState

SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")


def judge(text: str, policy: PolicyState | None = None) -> CommandVerdict:
    return evaluate(text, policy or PolicyState(), SCOPE)


@pytest.mark.parametrize(
    ("text", "tokens", "exact"),
    [
        ("git commit -m x", ["git", "commit"], False),
        ("git --no-pager commit -m x", ["git", "commit"], False),
        ("npm run build -- --watch", ["npm", "run", "build"], False),
        ("npm test", ["npm", "test"], False),
        ("docker compose up -d", ["docker", "compose", "up"], False),
        ("cargo build --release", ["cargo", "build"], False),
        ("make lint", ["make", "lint"], False),
        ("touch marker", ["touch"], False),
        ("python -m pytest -p x", ["python", "-m", "pytest", "-p", "x"], True),
        ("pip install requests", ["pip", "install", "requests"], True),
        ("git push", ["git", "push"], True),
        ("make", ["make"], True),
        ("make CC=x", ["make", "CC=x"], True),
        ("npm --prefix x run y", ["npm", "--prefix", "x", "run", "y"], True),
        ("python x.py", ["python", "x.py"], True),
        ("rm -rf build", ["rm", "-rf", "build"], True),
        ("sudo ls", ["sudo", "ls"], True),
        ("git -c a.b=c commit", ["git", "-c", "a.b=c", "commit"], True),
        ("sort -o x a", ["sort", "-o", "x", "a"], True),
        (".venv/bin/python -m pytest -q", [".venv/bin/python", "-m", "pytest"], False),
        ("./run.sh x", ["./run.sh"], False),
        ("./gradlew test --info", ["./gradlew", "test"], False),
        ("./manage.py shell", ["./manage.py", "shell"], True),
        ("pip3.11 install x", ["pip3.11", "install", "x"], True),
        ("pip3.11 wheel x", ["pip3.11", "wheel"], False),
        ("docker compose up -d", ["docker", "compose", "up"], False),
        ("docker compose exec app sh", ["docker", "compose", "exec", "app", "sh"], True),
        ("aws s3 rm s3://x", ["aws", "s3", "rm", "s3://x"], True),
        ("cmake -P x", ["cmake", "-P", "x"], True),
    ],
)
def test_what_is_offered(text: str, tokens: list[str], exact: bool) -> None:
    verdict = judge(text)
    assert verdict.grants == (CommandGrant(tuple(tokens), exact),)
    policy = PolicyState()
    policy.command_allowlist.add(tokens, exact)
    assert judge(text, policy).allowed


@pytest.mark.parametrize(
    "text",
    [
        "touch x > y",
        "touch $(x)",
        "touch /etc/x",
        "cat /etc/shadow",
        "touch ~/x",
        "FOO=1 touch x",
        "rm *.log",
        "touch $PWD",
        "touch x\ntouch y",
        "touch 'a",
        "'touch' x",
        "../run.sh",
        "cd ..",
        "a b; c d; e f; g h; i j; k l",
    ],
)
def test_what_is_not_offered(text: str) -> None:
    verdict = judge(text)
    assert not verdict.allowed
    assert verdict.grants == ()
    assert verdict.grant_refused


@pytest.mark.parametrize("name", sorted(NEVER))
def test_no_interpreter_and_no_wrapper_is_offered_as_a_prefix(name: str) -> None:
    for text in (name, f"{name} x", f"/usr/bin/{name} x", f"{name} -c x", f"bin/{name} x"):
        for grant in judge(text).grants:
            assert grant.exact, text
    assert is_wide([name])


@pytest.mark.parametrize("name", ["python3.12", "ruby3.2", "perl5.36", "lua5.4", "node22", "php8", "bash5"])
def test_a_version_does_not_hide_an_interpreter(name: str) -> None:
    assert judge(f"{name} x").grants == (CommandGrant((name, "x"), True),)


def test_only_what_asks_is_offered() -> None:
    verdict = judge("ls | touch x && git status && npm run a")
    assert [grant.tokens for grant in verdict.grants] == [("touch",), ("npm", "run", "a")]


def test_a_grant_keeps_the_other_rules() -> None:
    policy = PolicyState()
    policy.command_allowlist.add(["touch"])
    policy.command_allowlist.add(["git", "commit"])
    for text in ("touch x", "touch src/*.py", "git commit -m 'a $b'", "git -C src commit"):
        assert judge(text, policy).allowed, text
    for text in (
        "touch ../x",
        "touch /tmp/x",
        "touch x > y",
        "touch $(x)",
        "touch ~/x",
        "git commit-tree x",
        "git -C .. commit",
        "git -c core.pager=x commit",
        "git commit -F /etc/shadow",
        "git commit --file=/etc/shadow",
        "git commit -F/etc/shadow",
        "git commit -Fa/../../x",
        "git commit -sF../x",
        "git commit --file=a/../../x",
        "PATH=. touch x",
        "'touch' x",
        "cd ..; touch x",
        "touchx",
    ):
        assert not judge(text, policy).allowed, text


def test_an_exact_grant_covers_nothing_else() -> None:
    policy = PolicyState()
    policy.command_allowlist.add(["rm", "-rf", "build"], exact=True)
    assert judge("rm -rf build", policy).allowed
    assert judge("rm  -rf 'build'", policy).allowed
    for text in ("rm -rf build x", "rm -rf", "rm -rf buil*", "rm -rf ./build"):
        assert not judge(text, policy).allowed, text


def test_a_pattern_is_not_the_word_that_was_granted() -> None:
    policy = PolicyState()
    policy.command_allowlist.add(["rm", "*"], exact=True)
    policy.command_allowlist.add(["npm", "run", "*"])
    policy.command_allowlist.add(["npm", "test", "a[b]"], exact=True)
    assert judge("rm '*'", policy).allowed and judge("npm run \\* x", policy).allowed
    for text in ("rm *", "rm *''", "npm run * x", "npm test a[b]"):
        assert not judge(text, policy).allowed, text
    assert judge("npm run *").grants == ()
    policy.command_allowlist.add(["npm", "test"])
    assert judge("npm test a[b]", policy).allowed


def test_what_no_grant_waives_is_named() -> None:
    policy = PolicyState()
    policy.command_allowlist.add(["make"])
    policy.command_allowlist.add(["./run.sh"])
    verdict = judge("make -C ../x", policy)
    assert verdict.reason == 'make -C ../x: granted prefix "make", but ../x may lead out of the workspace.'
    assert verdict.grant_refused == "leaving the workspace cannot be granted"
    assert "another file in another folder" in judge("cd src && ./run.sh", policy).reason


def test_a_relative_program_is_granted_for_the_workspace_folder_only() -> None:
    policy = PolicyState()
    policy.command_allowlist.add(["./run.sh"])
    assert judge("./run.sh", policy).allowed
    assert not judge("cd src && ./run.sh", policy).allowed
    elsewhere = CommandScope("/home/dev/proj/src", ("/home/dev/proj",), "/home/dev", "/usr/bin")
    assert not evaluate("./run.sh", policy, elsewhere).allowed


def test_words_are_joined_as_a_shell_quotes_them() -> None:
    assert join_words(["git", "commit", "-m", "it's"]) == "git commit -m 'it'\"'\"'s'"
