"""Sessions as documents: what may leave the machine holds no key, runs and loads nothing, deceives no terminal."""

from __future__ import annotations

import json
import time

import pytest

from xun import events
from xun_cli.session.envelope import Envelope
from xun_cli.session.export import FORMATS, Format, export
from xun_cli.session.lines import out_line, to_line
from xun_cli.session.quiet import quiet, quiet_line
from xun_cli.session.redaction import redact, redact_values

BODY = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE"
NOT_TO_BE_SEEN = [
    ('{"password": "hunter2hunter", "n": 1}', "hunter2hunter"),
    ('{\\"api_key\\": \\"zq81kdl02m\\"}', "zq81kdl02m"),
    ('"command": "export DB_PASSWORD=correcthorse && run"', "correcthorse"),
    ("env: TOKEN=zq81kdl02m", "zq81kdl02m"),
    ("DB_PASSWORD='four words with spaces'", "four words"),
    ('passphrase = "correct horse battery"', "correct horse"),
    ("<password>hunter2hunter</password>", "hunter2hunter"),
    ("apiKey: 'zq81kdl02mq', clientSecret: zq81kdl02m", "zq81kdl02m"),
    ("ASIA" + "QWERTYUIOPASDFGH", "QWERTY"),
    ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "SyA1234"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_X", "dozjg"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcj"),
    ("authorization: token 0123456789abcdef", "0123456789"),
    ("-H 'authorization: bearer abcdefgh12345678'", "abcdefgh"),
    ("Set-Cookie: sid=abc123def456; Path=/", "abc123"),
    ("curl -u bob:s3cretpw https://x", "s3cretpw"),
    ("tool --api-key s3cretpw --x", "s3cretpw"),
    ("machine h login bob password s3cretpw", "s3cretpw"),
    ("postgres://bob:pa@ss/w@db.example/x", "ss/w"),
    ("https://:pw12345@h.example/", "pw12345"),
    ("https://tok3nvalue99@git.example/x", "tok3n"),
    ("https://x.example/?api_key=abcdefgh&page=2", "abcdefgh"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_abc"),
    ("https://hooks.slack.com/services/T0000/B0000/XXXXXXXX", "XXXX"),
    ("glpat-abcdefghijklmnop", "glpat-abc"),
    (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n{BODY}", BODY),
    (f"{BODY}\n{BODY}\n-----END OPENSSH PRIVATE KEY-----", BODY),
    (f"     7\t{BODY}\n     8\t-----END RSA PRIVATE KEY-----", BODY),
    (f"{BODY}\\n{BODY}\\n-----END PRIVATE KEY-----\\n", BODY),
    (f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----", BODY),
]


@pytest.mark.row("sec-secrets-010")
@pytest.mark.parametrize(("text", "secret"), NOT_TO_BE_SEEN)
def test_what_looks_like_a_secret_is_taken_out(text: str, secret: str) -> None:
    cleaned = redact(f"before {text}\nafter" if "BEGIN" not in text else text)
    assert secret not in cleaned and "[redacted]" in cleaned
    assert redact(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "the token count: 12345 tokens; key: value; primary_key=True; max_tokens: 40960",
        "monkey = banana; keyboard: qwertyuiop; sort_key=name",
        "token = lex.next_token()\nsecrets: Sequence[str]\nself.token = agent.new_token()",
        "npm_config_cache and sk-learn, https://registry.example:4873/@scope/pkg",
        "docker run -u 1000:1000 image; Basic principles of Bearer tokens",
        "password: ${PASSWORD}; TOKEN=$TOKEN",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_names_of_values_count() -> None:
    given = {
        "env": {"GITHUB_TOKEN": "plainword", "PATH": "/bin"},
        "list": ["a", {"password": "abcd"}],
        "tokens": "many",
    }
    assert redact_values(given) == {
        "env": {"GITHUB_TOKEN": "[redacted]", "PATH": "/bin"},
        "list": ["a", {"password": "[redacted]"}],
        "tokens": "many",
    }


def test_the_time_that_it_takes_grows_with_the_text_only() -> None:
    begun = time.perf_counter()
    for text in ("a=a" * 8_000, 'k="' * 8_000, "x://a:" * 8_000, f"{BODY}\n-----END PRIVATE KEY-----" * 300):
        redact(text)
    assert time.perf_counter() - begun < 5


def document(form: Format, *given: events.Event, title: str = "", redacted: bool = False) -> str:
    return export(
        [Envelope(n, "t", "s", 1, item) for n, item in enumerate(given, 1)], form, title=title, redacted=redacted
    )


@pytest.mark.row("sec-secrets-010")
@pytest.mark.parametrize("form", FORMATS)
def test_a_key_is_found_before_a_text_is_shortened(form: Format) -> None:
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *[BODY] * 300, "-----END PRIVATE KEY-----"])
    first = events.TurnStarted(input=f"{'x' * 70} sk-live-ABCDEFGH12345678")
    text = document(form, first, events.ToolCompleted(tool="bash", content=f"{'y' * 1900}\n{key}"), redacted=True)
    assert BODY not in text and "sk-live" not in text


HOSTILE = "\x1b]52;c;eA==\x07 \x9b2J \u202etxt.exe \u200b"


@pytest.mark.parametrize("form", ["md", "html"])
def test_a_document_for_people_deceives_no_terminal_and_no_reader(form: Format) -> None:
    text = document(
        form,
        events.TurnStarted(input=HOSTILE),
        events.MessageCompleted(text=HOSTILE),
        events.ToolCompleted(tool=HOSTILE, content=HOSTILE, status="ok"),
        events.ApprovalResolved(kind="choice", choice="deny", source="user", reason=HOSTILE),
        events.Error(message=HOSTILE),
        title=HOSTILE,
    )
    assert not set("\x1b\x07\x9b\u202e\u200b") & set(text) and text.count("U+202E") >= 6


def test_markdown_of_a_session_is_text() -> None:
    said = "<script>x</script> ![p](http://h/?q=1) <https://good.example>\n`<b>` and\n```html\n<i>![x](y)\n"
    text = document("md", events.MessageCompleted(text=said), events.Error(message="<img src=x> ![y](z) **b**"))
    assert "<script" not in text and "<img" not in text and "\\![p]" in text and text.count("![x]") == 1
    assert "<https://good.example>" in text and "`<b>`" in text and "<i>![x](y)\n```\n" in text
    assert "\\*\\*b\\*\\*" in text and "\\!\\[y\\]" in text


@pytest.mark.parametrize(
    "text",
    [
        "``` `\n<b>x</b>",
        "~~~\n```\n~~~\n<b>",
        "````\n```\n````\n<b>",
        "`a\n<b>`",
        "\t<b>",
        "`` ` ``<b>",
        "\\`<b>`",
        "<B x=1>",
        "</b>",
        "<!-- -->",
        "<?x?>",
    ],
)
def test_no_trick_with_fences_lets_a_tag_through(text: str) -> None:
    assert not {"<b", "</b", "<B", "<!", "<?"} & {
        quiet(text).replace("`<b>`", "")[at : at + 2] for at in range(len(text) + 20)
    }


def test_one_line_stays_one_line() -> None:
    assert quiet_line("a\n# b [x](y) <b>") == "a # b \\[x\\](y) &lt;b>"


def test_json_for_a_terminal_is_ascii_and_means_the_same() -> None:
    data = {"text": f"{HOSTILE}\x7f\U0001f600", "name\u202e": 1}
    line = out_line(data, terminal=True)
    assert line.isascii() and line.isprintable() and json.loads(line) == json.loads(to_line(data)) == data
    assert out_line(data, terminal=False) == to_line(data)
