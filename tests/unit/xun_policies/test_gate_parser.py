"""The parser: what is a word, what is an operator, and what is refused."""

from __future__ import annotations

import random
import subprocess

import pytest

from xun_policies.commands import CommandScope, CommandVerdict, evaluate
from xun_policies.shell.grammar import MAX_COMMANDS, parse
from xun_policies.store import PolicyState

SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")


def judge(text: str) -> CommandVerdict:
    return evaluate(text, PolicyState(), SCOPE)


def words(text: str) -> list[str]:
    return [word.text for command in parse(text).commands for word in command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo 'don'\\''t'", ["echo", "don't"]),
        ('echo "a\\"b" c', ["echo", 'a"b', "c"]),
        ('echo "a\\nb"', ["echo", "a\\nb"]),
        ("echo a\\ b", ["echo", "a b"]),
        ('echo a"b"c', ["echo", "abc"]),
        ("echo ''", ["echo", ""]),
        ("echo a#b #c", ["echo", "a#b"]),
        ("git show HEAD^{commit}", ["git", "show", "HEAD^{commit}"]),
        ('rg "foo$" src', ["rg", "foo$", "src"]),
        ("git log @{u}..@{u}", ["git", "log", "@{u}..@{u}"]),
    ],
)
def test_words_are_what_bash_makes_of_them(text: str, expected: list[str]) -> None:
    assert parse(text).problem is None
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "syntax"),
        ("   ", "syntax"),
        ("ls\ntouch x", "newline"),
        ("ls \\\n-la", "newline"),
        ('echo "a\\\nb"', "newline"),
        ("echo $(id)", "substitution"),
        ("echo `id`", "substitution"),
        ("cat <(ls)", "substitution"),
        ("echo $x", "variable"),
        ("echo ${x}", "variable"),
        ("echo $'x'", "quoting"),
        ("ls &", "background"),
        ("ls |& cat", "background"),
        ("ls > x", "redirection"),
        ("ls > /dev/null2", "redirection"),
        ("ls 12>&1", "redirection"),
        ("cat <<E\nx\nE", "here-document"),
        ("echo {a,b}{c,d}", "brace"),
        ("echo {a}b,c}", "brace"),
        ("echo {1..3}", "brace"),
        ("((1))", "arithmetic"),
        ("ls\r", "control-char"),
        ("ls\u200b", "control-char"),
        ("ls \u202ex", "control-char"),
        ("ls \ufe0f", "control-char"),
        ("ls \U000e0041", "control-char"),
        ("ls \u3164", "control-char"),
        ("(ls) x", "syntax"),
        ("ls &&", "syntax"),
        ("| ls", "syntax"),
        ("ls)", "syntax"),
        ("(ls", "syntax"),
        ("ls ; ; ls", "syntax"),
        ("echo 'x", "syntax"),
        ("ls \\", "syntax"),
        ("if ls; then pwd; fi", "syntax"),
        ("! ! ls", "syntax"),
        ("!(ls)", "syntax"),
        ("ls | ! cat", "syntax"),
        ("f() (ls)", "syntax"),
        ("ls " + "x" * 10_000, "too-long"),
        ("(" * 40 + "ls" + ")" * 40, "arithmetic"),
        ("( " * 40 + "ls" + " )" * 40, "syntax"),
        ("ls;" * 3000, "too-many"),
    ],
)
def test_what_is_outside_the_grammar_asks_and_says_why(text: str, rule: str) -> None:
    verdict = judge(text)
    assert not verdict.allowed
    assert not verdict.syntax_ok
    assert rule in {segment.rule for segment in verdict.segments}
    assert verdict.grants == ()
    assert verdict.grant_refused


def test_a_cap_on_commands_asks() -> None:
    assert judge("; ".join(["true"] * MAX_COMMANDS)).allowed
    assert not judge("; ".join(["true"] * (MAX_COMMANDS + 1))).allowed


def test_the_text_is_kept_as_it_is() -> None:
    text = "  ls   -la  # list\n"
    verdict = judge(text)
    assert verdict.allowed
    assert verdict.text == text


def test_segments_come_in_source_order_with_their_source() -> None:
    verdict = judge("CI=1 rg 'a b' src 2>/dev/null | head -3 && (pwd)")
    assert [(segment.kind, segment.text) for segment in verdict.segments] == [
        ("assignment", "CI=1"),
        ("command", "rg 'a b' src"),
        ("redirect", "2>/dev/null"),
        ("operator", "|"),
        ("command", "head -3"),
        ("operator", "&&"),
        ("operator", "("),
        ("command", "pwd"),
        ("operator", ")"),
    ]
    assert verdict.segments[1].argv == ("rg", "a b", "src")


@pytest.mark.parametrize(
    "text",
    [
        "'ls'",
        '"ls"',
        "l\\s",
        "''ls",
        "\\ls",
        "l*s",
        "~/ls",
        "./ls",
        "/bin/ls",
        "bin/ls",
        '"CI"=1 ls',
        "lѕ",
        "LS",
        "l{s,}",
    ],
)
def test_a_command_name_must_be_plain(text: str) -> None:
    assert not judge(text).allowed


@pytest.mark.parametrize(
    "text",
    [
        "TZ=/etc/x date",
        "TZ=../x date",
        "LANG=/x ls",
        "LC_ALL=ja_JP.SJIS ls",
        "CI=$x ls",
        "CI+=1 ls",
        "CI[0]=1 ls",
        "CI=1",
        "PATH=x ls",
    ],
)
def test_assignments_need_an_inert_name_and_a_plain_value(text: str) -> None:
    assert not judge(text).allowed


def test_the_example_of_the_policy_page_reads_as_it_says() -> None:
    verdict = judge('git diff --cached | grep "x y" && curl -s http://h > /tmp/o; $(whoami)')
    assert [(segment.text, segment.status) for segment in verdict.segments] == [
        ("git diff --cached", "allow"),
        ("|", "ok"),
        ('grep "x y"', "allow"),
        ("&&", "ok"),
        ("curl -s http://h", "ask"),
        ("> /tmp/o", "ask"),
        (";", "ok"),
        ("$(whoami)", "ask"),
    ]
    assert verdict.segments[4].reason == 'built-in prefix "curl", but its guard: the host is not loopback'
    assert verdict.segments[5].reason == "redirection; only /dev/null forms are free"
    assert verdict.segments[7].reason == "command substitution"


@pytest.mark.parametrize("width", [80, 60, 40, 24])
def test_the_explanation_fits_and_hides_nothing(width: int) -> None:
    verdict = judge('git diff --cached | grep "x y" && curl -s http://h > /tmp/o; $(whoami) \u202e')
    text = verdict.explain(width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "\\u202E" in text
    assert "\u202e" not in text
    assert "Nothing was run." in " ".join(text.split())


PARTS = ["#", " # ", "'", '"', " # ' ;", ";", " rm x", "\n", "$(", "`", ")", "(", "((", "[[ a", "]]", "{", "}", "<<E\n"]
PARTS += [
    "\nE\n",
    "$'",
    "\\",
    "\\\n",
    " case a in",
    " if x; then ",
    " fi",
    " ${x",
    " $x",
    " a=(",
    "a[",
    "]",
    "ls",
    "|",
    "&&",
    "&",
    " done",
]


def printed(text: str) -> tuple[int, bytes]:
    command = ["bash", "--norc", "--noprofile", "--pretty-print", "/dev/stdin"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=20, check=False)
    return done.returncode, done.stdout


def test_what_is_left_out_as_a_comment_is_one_for_bash() -> None:
    """Text that an assessor does not see must be nothing to bash: it reads both texts as the same commands."""
    if printed("ls # x\n") != printed("ls\n") or printed("ls # x\n")[0] != 0:
        pytest.skip("this bash has no --pretty-print")
    chance = random.Random(20261129)
    texts = ["".join(chance.choices(PARTS, k=chance.randint(3, 9))) for _ in range(1500)]
    shortened = [(text, parse(text).bare) for text in texts]
    compared = [(text, bare) for text, bare in shortened if bare not in ("", text)]
    assert len(compared) > 60
    assert [text for text, bare in compared[:120] if printed(text) != printed(bare)] == []
