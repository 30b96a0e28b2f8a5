"""The commands after ``xun``, run in process."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from xun import events
from xun_cli.main import main
from xun_cli.places import Places
from xun_cli.session.envelope import Envelope
from xun_cli.session.export import export
from xun_cli.session.redaction import redact
from xun_cli.session.store import SessionStore, list_sessions, read_session
from xun_cli.subcommands import completion

CORPUS = Path(__file__).resolve().parents[3] / "corpus" / "commands.jsonl"


class Cli:
    """Runs xun in this process, in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._capsys, self._monkeypatch = folder, capsys, monkeypatch
        self.places = Places.from_environment()

    def __call__(self, *argv: str, stdin: str | bytes = "") -> tuple[int, str, str]:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        self._capsys.readouterr()
        try:
            code = main(list(argv))
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def cli(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, isolated_environment: Path
) -> Cli:
    folder = tmp_path / "proj"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    return Cli(folder, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("command", "word"),
    [(("config",), "show"), (("config", "-C", "."), "show"), (("sessions",), "list"), (("policy",), "show")],
)
def test_a_command_without_its_word_shows(cli: Cli, command: tuple[str, ...], word: str) -> None:
    code, out, err = cli(*command)
    assert (code, err) == (0, "") and out
    assert (code, out, err) == cli(*command, word)


def test_options_without_a_word_are_those_of_the_one_that_is_meant(cli: Cli) -> None:
    assert cli("config", "--json") == cli("config", "show", "--json")
    assert cli("sessions", "-C", ".", "--all", "--json") == cli("sessions", "-C", ".", "list", "--all", "--json")
    assert cli("config", "--nothing")[0] == cli("config", "ui.mode")[0] == cli("config", "show", "--nothing")[0] == 2


def test_policy_options_without_a_word_are_those_of_show(cli: Cli) -> None:
    assert cli("policy", "--builtin") == cli("policy", "show", "--builtin")
    assert cli("policy", "-C", ".", "--builtin")[0] == 0 and cli("policy", "--nothing")[0] == 2


# -- policy -------------------------------------------------------------------------------------------


def test_policy_test_explains(cli: Cli) -> None:
    code, out, err = cli("policy", "test", "git log | grep x")
    assert (code, err) == (0, "")
    assert "ALLOW" in out
    code, out, err = cli("policy", "test", "ls > out.txt")
    assert (code, err) == (4, "")
    assert "redirection" in out
    assert "Nothing was run." in " ".join(out.split())
    assert not (cli.folder / "out.txt").exists()


def test_policy_test_joins_words_and_takes_one_raw(cli: Cli) -> None:
    assert cli("policy", "test", "echo", "a; rm x")[0] == 0
    assert cli("policy", "test", "echo a; rm x")[0] == 4
    assert (
        cli("policy", "test", "ls", "--json", "--stdin")[0] == cli("policy", "test", "--", "ls", "--json", "--stdin")[0]
    )
    assert json.loads(cli("policy", "test", "--json", "ls")[1])["decision"] == "allow"


@pytest.mark.parametrize(
    "argv", [["test"], ["test", "--nope", "ls"], ["test", "--stdin"], ["test", "-C"], ["nope"], ["--nope"]]
)
def test_policy_wrong_call_is_2(cli: Cli, argv: list[str]) -> None:
    code, out, err = cli("policy", *argv)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_policy_test_of_json_lines(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/dev")
    lines = [
        {"id": "a", "command": "ls"},
        {"id": 7, "command": "rm -rf /"},
        {"id": "c"},
        {"id": "d", "command": 5},
        {"id": "e", "command": "echo \ud800"},
    ]
    raw = "\n".join([*(json.dumps(line) for line in lines), "not json", "[1]", "", '{"id": "z", "command": "pwd"}'])
    code, out, err = cli("policy", "test", "--stdin", "--json", "-C", "/home/dev/nowhere", stdin=raw)
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [row["id"] for row in rows] == ["a", 7, "c", "d", "e", None, None, "z"]
    assert [row["decision"] for row in rows] == ["allow", "ask", "ask", "ask", "ask", "ask", "ask", "allow"]
    assert rows[0] == {"id": "a", "decision": "allow", "segments": rows[0]["segments"], "grantable": []}
    assert set(rows[1]["segments"][0]) == {"text", "status", "rule", "reason"}
    assert "error" in rows[2]


def test_corpus_rows_through_the_command_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/dev")
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()][::9]
    raw = "\n".join(json.dumps({"id": row["id"], "command": row["command"]}) for row in rows)
    code, out, _ = cli("policy", "test", "--stdin", "--json", "-C", "/home/dev/proj", stdin=raw)
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [answer["id"] for answer in answers] == [row["id"] for row in rows]
    wrong = [
        row["id"]
        for row, answer in zip(rows, answers, strict=True)
        if (row["expect"], answer["decision"]) == ("ask", "allow")
    ]
    assert wrong == []


def test_user_settings_count_in_policy_test(cli: Cli) -> None:
    assert cli("policy", "test", "frob x")[0] == 4
    assert cli("config", "set", "policy.commands.allow", "frob")[0] == 0
    assert cli("policy", "test", "frob x")[0] == 0
    assert cli("config", "set", "policy.commands.exclude", "ls")[0] == 0
    assert cli("policy", "test", "ls")[0] == 4
    assert "frob" in cli("policy", "show")[1]


def test_policy_lists_go_out_and_in(cli: Cli, tmp_path: Path) -> None:
    cli("config", "set", "policy.commands.allow", "npm test")
    file = tmp_path / "p.toml"
    assert cli("policy", "export", str(file))[0] == 0
    assert "npm" in file.read_text()
    cli("config", "set", "policy.commands.allow", "[]")
    code, out, _ = cli("policy", "import", str(file), "--dry-run")
    assert (code, "+ command  npm test" in out) == (0, True)
    assert cli("policy", "test", "npm test")[0] == 4
    assert cli("policy", "import", str(file))[0] == 1
    assert cli("policy", "import", str(file), "--yes")[0] == 0
    assert cli("policy", "test", "npm test")[0] == 0
    file.write_text("version = 1\n[[command]]\ntokens = 5\n")
    code, _, err = cli("policy", "import", str(file), "--yes")
    assert code != 0
    assert "line 2" in err


def test_policy_of_a_saved_session(cli: Cli, tmp_path: Path) -> None:
    from xun_policies.store import PolicyState

    path = conversation(cli, [events.PolicyChanged(op="add", state=PolicyState().to_json())])
    file = tmp_path / "p.toml"
    file.write_text('version = 1\n[[command]]\ntokens = ["make", "all"]\n')
    assert cli("policy", "import", str(file), "--yes", "-s", path.stem)[0] == 0
    assert "make all" in cli("policy", "show", "-s", path.stem)[1]
    assert "make all" not in cli("policy", "show")[1]
    last = read_session(path).envelopes[-1]
    assert isinstance(last.event, events.PolicyChanged)
    assert last.seq == 5


def test_policy_test_write(cli: Cli) -> None:
    (cli.folder / "a.txt").write_text("x")
    assert "verdict: ASK" in cli("policy", "test-write", "a.txt")[1]
    assert "verdict: ALLOW" in cli("policy", "test-write", "new.txt")[1]
    assert "REFUSED" in cli("policy", "test-write", "/etc/passwd")[1]


# -- tool ---------------------------------------------------------------------------------------------


def test_tool_results_and_exit_codes(cli: Cli) -> None:
    file = cli.folder / "a.txt"
    file.write_text("hello foo\n")
    code, out, _ = cli("tool", "read_file", "path=a.txt", "limit=5")
    assert (code, json.loads(out)["value"]["text"]) == (0, "hello foo\n")
    assert list(json.loads(out)) == ["is_ok", "value"]
    code, out, _ = cli("tool", "read_file", "path=missing")
    assert (code, list(json.loads(out))) == (1, ["is_ok", "error", "details", "kind"])
    code, out, _ = cli("tool", "read_file", "nope=1")
    assert (code, json.loads(out)["kind"]) == (2, "format_error")
    code, out, _ = cli("tool", "frobnicate")
    assert (code, json.loads(out)["kind"]) == (2, "format_error")
    code, out, _ = cli("tool", "replace", "path=a.txt", "old=foo", "new=1")
    assert (code, json.loads(out)["kind"], file.read_text()) == (4, "denied", "hello foo\n")
    code, out, _ = cli("tool", "replace", "path=a.txt", "old=foo", "new=1", "--allow-write", ".")
    assert (code, json.loads(out)["value"]["added"], file.read_text()) == (0, 1, "hello 1\n")


def test_tool_arguments_as_json(cli: Cli) -> None:
    (cli.folder / "a.txt").write_text("x\n")
    assert cli("tool", "read_file", "--args", '{"path": "a.txt"}')[0] == 0
    assert cli("tool", "read_file", "--args", "{")[0] == 2
    assert cli("tool", "read_file", "--args", "{}", "path=a.txt")[0] == 2
    assert cli("tool", "read_file", "nothing")[0] == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_tool_bash_goes_through_the_gate(cli: Cli) -> None:
    code, out, _ = cli("tool", "bash", "command=echo hi")
    assert (code, json.loads(out)["value"]["stdout"]) == (0, "hi\n")
    assert cli("tool", "bash", "command=touch x")[0] == 4
    assert not (cli.folder / "x").exists()
    assert cli("tool", "bash", "command=touch x", "--allow-command", "touch")[0] == 0
    assert (cli.folder / "x").exists()


def test_tool_without_a_name_lists(cli: Cli) -> None:
    code, out, _ = cli("tool")
    assert code == 0
    assert {"read_file", "bash", "grep"} <= {line.split()[0] for line in out.splitlines()}


# -- sessions -----------------------------------------------------------------------------------------


def conversation(cli: Cli, more: list[events.Event] | None = None) -> Path:
    store = SessionStore.create(cli.places, cli.folder)
    items: list[events.Event] = [
        events.SessionStarted(cwd=str(cli.folder), model="m"),
        events.TurnStarted(input="show me <b>\x1b]52;c;x\x07 sk-abcdefgh12345678"),
        events.MessageCompleted(text="An **answer**."),
        *(
            more
            or [events.ToolCompleted(call_id="c", tool="bash", result="```\nout\n```"), events.TurnCompleted(text="x")]
        ),
    ]
    for number, event in enumerate(items, 1):
        store.append(Envelope(number, "2026-01-02T03:04:05Z", store.id, 1, event))
    store.close()
    return store.path


def test_sessions_list_show_delete(cli: Cli) -> None:
    assert "No sessions" in cli("sessions", "list")[1]
    path = conversation(cli)
    code, out, _ = cli("sessions", "list")
    assert (code, path.stem in out, "1 turn" in out) == (0, True, True)
    assert "\x1b" not in out
    row = json.loads(cli("sessions", "list", "--json")[1])
    assert (row["id"], row["turns"], row["path"]) == (path.stem, 1, str(path))
    assert path.stem in cli("sessions", "list", "--all")[1]
    assert path.stem in cli("-C", str(cli.folder), "sessions", "list")[1]
    code, out, _ = cli("sessions", "show", path.stem)
    assert (code, "An **answer**." in out, "\x1b" in out) == (0, True, False)
    records = [json.loads(line) for line in cli("sessions", "show", path.stem, "--json")[1].splitlines()]
    assert [record["seq"] for record in records] == [1, 2, 3, 4, 5]
    assert cli("sessions", "delete", path.stem)[0] == 2
    assert cli("sessions", "delete", path.stem, "--yes")[0] == 0
    assert list_sessions(cli.places, cli.folder) == []
    code, out, err = cli("sessions", "show", path.stem)
    assert (code, out) == (1, "")
    assert "No session" in err


def test_sessions_are_searched_and_pruned(cli: Cli) -> None:
    assert cli("-p", "say Größe and more", "--demo")[0] == 0
    code, out, err = cli("sessions", "search", "GRÖSSE", "and")
    assert (code, err) == (0, "") and "turn 1 user: say Größe and more" in out
    code, out, _ = cli("sessions", "search", "--json", "Größe")
    assert json.loads(out.splitlines()[0])["who"] == "user"
    assert cli("sessions", "search", "nowhere")[:2] == (1, "")
    assert "unused for 30 days" in cli("sessions", "prune")[1]
    [info] = list_sessions(cli.places, cli.folder)
    os.utime(info.path, (1, 1))
    assert cli("sessions", "prune")[0] == 2 and info.path.exists()
    assert cli("sessions", "prune", "--days", "0")[0] == 2
    assert cli("sessions", "prune", "--yes")[0] == 0 and not info.path.exists()


def test_an_export_tells_of_summaries_and_of_going_back(cli: Cli) -> None:
    made = [events.TurnStarted(input="one"), events.Compaction(before=9, after=2, summary="the <notes>")]
    made.append(events.Rewound(turn=1, after_seq=0))
    items = [Envelope(number, "t", "s", 1, event) for number, event in enumerate(made, 1)]
    page = export(items, "html")
    assert "summed up (9 tokens, now 2)" in page and "the &lt;notes&gt;" in page and "went back before turn 1" in page
    assert "<script" not in page and "src=" not in page
    assert "went back before turn 1" in export(items, "md")


def test_session_export_files(cli: Cli, tmp_path: Path) -> None:
    path = conversation(cli)
    for name, start in (("a.md", "# "), ("a.html", "<!doctype html>"), ("a.json", "[")):
        file = tmp_path / name
        assert cli("sessions", "export", path.stem, str(file))[0] == 0
        assert file.read_text().startswith(start)
        assert file.stat().st_mode & 0o777 == 0o600
    assert len(json.loads((tmp_path / "a.json").read_text())) == 5
    out = cli("sessions", "export", path.stem, "--redact")[1]
    assert "sk-abcdefgh" not in out
    assert "[redacted]" in out


def test_damaged_session_is_shown_with_its_damage(cli: Cli) -> None:
    path = conversation(cli)
    path.write_bytes(path.read_bytes() + b"{torn")
    before = path.read_bytes()
    code, _, err = cli("sessions", "show", path.stem)
    assert code == 0
    assert "unfinished record" in err
    assert path.read_bytes() == before


def test_html_export_runs_and_loads_nothing(cli: Cli) -> None:
    event = events.TurnStarted(input="<script>alert(1)</script><img src=http://x>")
    text = export([Envelope(1, "t", "s", 1, event)], "html")
    assert "<script" not in text
    assert "<img" not in text
    assert "http-equiv" in text
    assert "default-src 'none'" in text


def test_markdown_export_keeps_fences_apart() -> None:
    event = events.ToolCompleted(tool="bash", result="a\n````\nb", content="a\n````\nb")
    text = export([Envelope(1, "t", "s", 1, event)], "md")
    assert "`````\na\n````\nb\n`````" in text


@pytest.mark.row("sec-secrets-010")
@pytest.mark.parametrize(
    "text",
    [
        "key sk-proj-abcdefghijkl",
        "OPENAI_API_KEY=abcdef123",
        'password: "hunter2hunter2"',
        "Authorization: Bearer abcdefghijkl",
        "postgres://me:secretpw@host/db",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnop",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_redaction(text: str) -> None:
    cleaned = redact(text)
    assert "[redacted]" in cleaned
    for secret in ("abcdefghijkl", "abcdef123", "hunter2", "secretpw", "IOSFODNN", "\nabc\n"):
        assert secret not in cleaned


def test_redaction_leaves_code_alone() -> None:
    code = "def key(x): return sorted(x, key=len)\nfor token in tokens: print(token)\n"
    assert redact(code) == code


# -- config, doctor, init, completion -----------------------------------------------------------------


def test_config_show_set_check(cli: Cli) -> None:
    assert cli("config", "path")[1].strip() == str(cli.places.config_file)
    assert cli("config", "set", "limits.steps", "9")[0] == 0
    code, out, _ = cli("config", "show", "limits")
    assert (code, "limits.steps = 9" in out, "config.toml:2" in out, "limits.cost_usd" in out) == (0, True, True, True)
    shown = json.loads(cli("config", "show", "--json")[1])
    assert shown["mode"] == {"value": "ask", "origin": "built in"}
    assert cli("config", "set", "limits.steps", "many")[0] == 2
    code, _, err = cli("config", "set", "limit.steps", "9")
    assert (code, 'did you mean "limits.steps"' in err) == (2, True)
    assert cli("config", "check")[0] == 0
    with cli.places.config_file.open("a") as file:
        file.write("\n[ui]\nthem = 1\n")
    code, _, err = cli("config", "check")
    assert (code, "config.toml:5" in err) == (1, True)
    cli.places.config_file.write_text("mode = 1\n")
    for argv in (["config", "show"], ["config", "check"], ["policy", "test", "ls"], ["tool", "list_dir", "path=."]):
        code, out, err = cli(*argv)
        assert (code, out) == (3, ""), argv
        assert "config.toml:1" in err


def test_headers_are_never_shown(cli: Cli) -> None:
    assert cli("config", "set", "provider.headers", '{Authorization = "Bearer hidden-token"}')[1].count("hidden") == 0
    assert load_headers(cli) == {"Authorization": "Bearer hidden-token"}
    for argv in (["show"], ["show", "--json"], ["show", "provider.headers"]):
        code, out, err = cli("config", *argv)
        assert code == 0
        assert "hidden-token" not in out + err
        assert "Authorization" in out


def load_headers(cli: Cli) -> dict[str, str]:
    from xun_cli.config import load_settings
    from xun_cli.options import StartOptions

    return load_settings(cli.places, StartOptions(cwd=cli.folder), {}).provider.headers


def test_doctor_without_a_key(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = cli("doctor", "--json")
    report = json.loads(out)
    assert (code, report["ok"]) == (0, True)
    names = {check["name"] for check in report["checks"]}
    assert {"xun", "bash", "git", "tty", "terminal", "sessions", "last crash", "model"} <= names
    cli.places.config_file.write_text("mode = 1\n")
    code, out, _ = cli("doctor")
    assert code == 1
    assert "BAD   settings" in out


def test_what_is_not_installed_says_how_to_install_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    assert "browser (pip install playwright)" in " ".join(cli("doctor", "--offline")[1].split())
    code, out, _ = cli("tool", "browser_page", "action=list")
    assert (code, "pip install 'playwright>=1.50,<2'" in json.loads(out)["error"]) == (1, True), out
    cli.places.config_file.write_text('[tools]\ndisable = ["browser_*"]\n')
    assert cli("tool", "browser_page", "action=list")[0] == 2


def test_doctor_asks_the_server_and_shows_no_key(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XUN_API_KEY", "sk-doctor-secret")
    with FakeModelServer([]) as server:
        monkeypatch.setenv("XUN_BASE_URL", server.base_url)
        code, out, err = cli("doctor")
    assert code == 0
    assert "reachable" in out
    assert "present, from XUN_API_KEY" in out
    assert "sk-doctor" not in out + err
    monkeypatch.setenv("XUN_API_KEY", "sk-doctor-secret")
    code, out, _ = cli("doctor")
    assert (code, "BAD   endpoint" in out) == (1, True)
    assert cli("doctor", "--offline")[0] == 0


def test_init_writes_once(cli: Cli) -> None:
    (cli.folder / "Makefile").write_text("test:\n\ttrue\n")
    (cli.folder / "src").mkdir()
    assert "make test" in cli("init", "--print")[1]
    assert cli("init")[0] == 0
    text = (cli.folder / "AGENTS.md").read_text()
    assert "make test" in text
    assert "`src/`" in text
    (cli.folder / "AGENTS.md").write_text("mine")
    assert cli("init")[0] == 1
    assert (cli.folder / "AGENTS.md").read_text() == "mine"


@pytest.mark.parametrize(
    "call",
    [("init", "-C"), ("config", "check"), ("policy", "export"), ("policy", "import"), ("sessions", "list", "-C")],
)
def test_a_home_folder_of_nobody_is_a_name_like_any_other(cli: Cli, call: tuple[str, ...]) -> None:
    code, _, said = cli(*call, "~no-such-user/x")
    assert code in (1, 2, 3) and "~no-such-user" in said
    assert str(Places.from_environment({"XUN_HOME": "~no-such-user/x"}).data).endswith("/~no-such-user/x/data")


@pytest.mark.parametrize("name", [b"no text \xff", b"two\n# lines"])
def test_init_in_a_folder_whose_name_is_no_title(cli: Cli, name: bytes) -> None:
    folder = cli.folder / os.fsdecode(name)
    folder.mkdir()
    assert cli("init", "-C", str(folder))[0] == 0
    assert (folder / "AGENTS.md").read_text().startswith("# Project\n\nWhat")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_option(cli: Cli, shell: str) -> None:
    code, out, _ = cli("completion", shell)
    assert code == 0
    for strings, _, _ in completion.options():
        for name in strings:
            word = name.lstrip("-") if shell == "fish" else name
            assert word in out, name
    program = shutil.which(shell)
    if program is not None:
        done = subprocess.run([program, "-n"], input=out, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--mod"], {"--mode", "--model"}),
        (["--mode", ""], {"ask", "plan", "auto-edit"}),
        (["policy", "te"], {"test", "test-write"}),
        (["se"], {"sessions", "setup"}),
        (["--output", "j"], {"json"}),
    ],
)
def test_completion_in_bash(cli: Cli, words: list[str], expected: set[str]) -> None:
    listed = " ".join(f"'{word}'" for word in ["xun", *words])
    script = (
        f'{completion.bash()}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words)}; _xun; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


# -- setup --------------------------------------------------------------------------------------------


def test_setup_through_a_pipe(cli: Cli) -> None:
    with FakeModelServer([{"text": "ready"}]) as server:
        code, out, err = cli("setup", stdin=f"{server.base_url}\nsk-typed-secret\n1\n")
    assert (code, err) == (0, "")
    assert "sk-typed" not in out
    config: dict[str, Any] = json.loads(cli("config", "show", "--json")[1])
    assert config["provider.base_url"]["value"] == server.base_url
    assert config["model"]["value"]
    assert "sk-typed" not in cli.places.config_file.read_text()
    assert "sk-typed-secret" in cli.places.credentials_file.read_text()
    assert cli.places.credentials_file.stat().st_mode & 0o777 == 0o600
    assert server.requests[-1].headers["authorization"] == "Bearer sk-typed-secret"


@pytest.mark.parametrize("typed", ["", "q\n", "1\nq\n", "\x1b\n"])
def test_setup_left_changes_nothing(cli: Cli, typed: str) -> None:
    code, _, err = cli("setup", stdin=typed)
    assert code == 3
    assert "OPENAI_API_KEY" in err
    assert not cli.places.config_file.exists()
    assert not cli.places.credentials_file.exists()


def test_setup_with_a_wrong_key_saves_nothing(cli: Cli) -> None:
    with FakeModelServer([{"status": 401, "body": '{"error": {"message": "bad key"}}'}]) as server:
        code, _, err = cli("setup", stdin=f"{server.base_url}\nsk-typed-secret\nsome-model\n")
    assert code == 3
    assert "401" in err
    assert "sk-typed" not in err
    assert not cli.places.config_file.exists()


@pytest.mark.parametrize(
    ("typed", "used", "kept"), [("n\n", "", ""), ("", "", ""), ("y\n", "u", ""), ("a\n", "u", "u")]
)
def test_local_server_is_offered(cli: Cli, monkeypatch: pytest.MonkeyPatch, typed: str, used: str, kept: str) -> None:
    from xun.models.catalog import LocalServer
    from xun_cli.config import load_settings
    from xun_cli.local_offer import offer
    from xun_cli.options import StartOptions

    url = "http://127.0.0.1:8080/v1"
    settings = load_settings(cli.places, StartOptions(cwd=cli.folder), {})
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    offer(settings, cli.places, [LocalServer(url, ("a\x1b[2J", "b", "c", "d"))])
    assert settings.provider.base_url == (url if used else "")
    assert load_settings(cli.places, StartOptions(cwd=cli.folder), {}).provider.base_url == (url if kept else "")
