"""What is offered when a person grants, and what a grant then lets through."""

from __future__ import annotations

from pathlib import Path

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
        ("pip3.11 check x", ["pip3.11", "check"], False),
        ("pip3.11 wheel x", ["pip3.11", "wheel", "x"], True),
        ("npm run-script build", ["npm", "run-script", "build"], False),
        ("npm init evil", ["npm", "init", "evil"], True),
        ("pnpm dlx x", ["pnpm", "dlx", "x"], True),
        ("pixi run rm x", ["pixi", "run", "rm", "x"], True),
        ("mise exec -- x", ["mise", "exec", "--", "x"], True),
        ("pyenv exec x", ["pyenv", "exec", "x"], True),
        ("coverage run x.py", ["coverage", "run", "x.py"], True),
        ("coverage report", ["coverage", "report"], False),
        ("rustup run stable x", ["rustup", "run", "stable", "x"], True),
        ("git checkout main", ["git", "checkout", "main"], True),
        ("dnf install x", ["dnf", "install", "x"], True),
        ("cross-env A=b x", ["cross-env", "A=b", "x"], True),
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


def test_no_interpreter_and_no_wrapper_is_offered_as_a_prefix() -> None:
    policy = PolicyState()
    for name in NEVER:
        for text in (name, f"{name} x", f"/usr/bin/{name} x", f"{name} -c x", f"bin/{name} x"):
            assert all(grant.exact for grant in judge(text, policy).grants), text
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


WIDER = [
    ("make lint", "'--eval=x:=$(shell touch m)'"),
    ("make lint", "--ev x"),
    ("make lint", "-f x.mk"),
    ("make lint", "-fx.mk"),
    ("make lint", "SHELL=./x"),
    ("make lint", "CC='touch m;'"),
    ("make lint", "A::=b"),
    ("make lint", "V=1 E='$(x)'"),
    ("make lint", "-- CC=x"),
    ("make lint", "*"),
    ("gmake lint", "CC=x"),
    ("npm run build", "--script-shell=./x"),
    ("npm run build", "--node-options=--require=./x.js"),
    ("npm test", "--prefix sub"),
    ("cargo build", "--config build.rustc=./x"),
    ("cargo build", "-Zunstable"),
    ("go test", "-exec ./x"),
    ("go test", "--toolexec=./x"),
    ("go vet", "-vettool=./x"),
    ("git merge", "--exec=./x"),
    ("git init", "--templ=x"),
    ("mvn test", "exec:exec"),
    ("mvn test", "-Dexec.executable=rm"),
    ("./gradlew test", "--init-script x.gradle"),
    ("./gradlew test", "-Ix.gradle"),
    ("eslint", "-c ./x.js"),
    ("eslint", "--format ./x.js"),
    ("mocha", "--require ./x.js"),
    ("jest", "--globalSetup=./x.js"),
    ("gcc-12", "-fplugin=./x.so a.c"),
    ("gcc", "-wrapper ./x a.c"),
    ("mypy", "--python-exec ./x src"),
    ("bazel test", "--run_under=./x //a"),
    ("just lint", "--shell ./x"),
    ("helm upgrade", "--post-renderer ./x a b"),
    ("cargo build", "--manifest-path=x/Cargo.toml"),
    ("cargo build", "--target ./x.json"),
    ("poetry install", "-C x"),
    ("uv sync", "--python ./x"),
    ("rspec", "-r./x.rb spec"),
    ("playwright test", "--config=./x.ts"),
    ("make lint", "-kf x.mk"),
    ("make lint", "-skfx.mk"),
    ("rake lint", "-qf x"),
    ("tox run", "-vc x.ini"),
    ("ninja", "-vf x.ninja"),
    ("gradle test", "-qIx.gradle"),
    ("mvn test", "-qf x.xml"),
    ("cargo test", "-qZunstable-options"),
    ("npm test", "-sC sub"),
    ("npm test", "-script-shell=./x"),
    ("npm test", "--script-s=./x"),
    ("npm test", "----node-opt ./x"),
    ("mvn test", "-global-settings x.xml"),
    ("mvn test", "--fil=x.xml"),
    ("rspec", "--req ./x"),
    ("mocha", "-br ./x.js"),
    ("eslint", "-qf ./x.js src"),
    ("git grep", "-O./x y"),
    ("git grep", "-n3O./x y"),
]


@pytest.mark.parametrize(("prefix", "rest"), WIDER)
def test_a_granted_prefix_covers_no_other_program(prefix: str, rest: str) -> None:
    policy = PolicyState()
    policy.command_allowlist.add(prefix.split())
    assert judge(prefix, policy).allowed
    verdict = judge(f"{prefix} {rest}", policy)
    assert not verdict.allowed
    assert f'granted prefix "{prefix}", but' in verdict.reason
    assert all(grant.exact for grant in verdict.grants)
    for grant in verdict.grants:
        policy.command_allowlist.add(grant.tokens, exact=True)
        assert judge(f"{prefix} {rest}", policy).allowed


@pytest.mark.parametrize(
    ("prefix", "rest"),
    [
        ("make lint", "-j4 -k V=1 VERBOSE=1 --no-print-directory other"),
        ("make lint", "-skj4 -Wfile -ofile"),
        ("gradle test", "-qPci=x -Dbuild.cache=x"),
        ("mvn test", "-ntp -am -T1C -Pfast"),
        ("eslint", "-of src"),
        ("git grep", "-neOO src"),
        ("npm run build", "--silent -- --prefix x --config y -C z"),
        ("npm test", "-- -c x"),
        ("npm test", "-s --workspace=a --if-present -w b"),
        ("cargo test", "--release -p x -- --nocapture -Z y"),
        ("go test", "./... -run X -race -v -count=1"),
        ("git switch", "-c new"),
        ("git cherry-pick", "-x HEAD"),
        ("git commit", "--amend -m 'exec: x' -c HEAD"),
        ("git commit", "-amOops"),
        ("uv sync", "--python 3"),
        ("cargo build", "--target wasm32-unknown-unknown"),
        ("rspec", "spec -fd"),
        ("mvn test", "-q -Dtest=X -pl core"),
        ("eslint", "--fix -f json src/*.js"),
        ("vitest", "--run --reporter verbose"),
        ("jest", "-t 'x y' --reporters=default"),
        ("gcc", "-Wall -o a a.c"),
        ("touch", "*"),
        ("git add", "*.py A=b"),
        ("make", "--eval=x CC=y"),
    ],
)
def test_a_granted_prefix_covers_what_it_says(prefix: str, rest: str) -> None:
    policy = PolicyState()
    policy.command_allowlist.add(prefix.split())
    assert judge(f"{prefix} {rest}", policy).allowed, judge(f"{prefix} {rest}", policy).reason


def test_a_file_named_as_an_option_is_not_covered_either(tmp_path: Path) -> None:
    scope = CommandScope(str(tmp_path), (str(tmp_path),), "/home/dev", "/usr/bin:/bin")
    policy = PolicyState()
    policy.command_allowlist.add(["go", "test"])
    assert evaluate("go test *", policy, scope).allowed
    (tmp_path / "-exec=x").write_text("")
    assert not evaluate("go test *", policy, scope).allowed
    assert evaluate("go test ./*", policy, scope).allowed


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
