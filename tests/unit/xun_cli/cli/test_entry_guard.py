"""The entry point: import path, import budget, help, exit codes of a wrong command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from xun_cli._version import __version__
from xun_cli.arguments import make_parser, parse
from xun_cli.usage import COMMANDS, HELP, UsageError

ROOT = Path(__file__).resolve().parents[4]
XUN = Path(sys.executable).with_name("xun")

HEAVY = ("pydantic", "openai", "prompt_toolkit", "rich", "asyncio", "pathspec", "rapidfuzz", "tomlkit", "httpx", "ssl")


def run(
    *args: str, cwd: Path, env: dict[str, str] | None = None, python: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python, "-m", "xun_cli", *args] if python else [str(XUN), *args]
    whole = {key: value for key, value in os.environ.items() if not key.startswith(("XUN_", "OPENAI_"))}
    whole |= {"XUN_HOME": str(cwd / ".home"), **(env or {})}
    return subprocess.run(
        command, cwd=cwd, env=whole, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False
    )


def modules_after(*argv: str) -> set[str]:
    script = (
        f"import sys; sys.argv = ['xun', *{list(argv)!r}]\n"
        "from xun_cli._entry import main\n"
        "code = main()\n"
        "sys.stderr.write('\\n'.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    return set(done.stderr.split())


def test_version_loads_nothing() -> None:
    before = subprocess.run(
        [sys.executable, "-c", "import sys; sys.stderr.write('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    loaded = modules_after("--version") - set(before.stderr.split()) - {"__future__"}
    assert loaded == {"xun_cli", "xun_cli._entry", "xun_cli._version"}
    assert modules_after("-V") == modules_after("--version")


def test_ctrl_c_while_the_first_modules_load_is_an_end_and_no_traceback() -> None:
    script = (
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'xun_cli.main':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from xun_cli._entry import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("argv", [("--help",), ("policy", "-h"), ("policy", "test", "ls -la && rm x")])
def test_light_commands_load_nothing_heavy(argv: tuple[str, ...]) -> None:
    loaded = modules_after(*argv)
    assert loaded.isdisjoint(HEAVY), loaded.intersection(HEAVY)
    if argv == ("--help",):
        assert loaded.isdisjoint(("argparse", "dataclasses", "pathlib", "re", "typing"))


def test_help_fits_the_screen() -> None:
    lines = HELP.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    examples = HELP[HELP.index("examples:") :]
    assert examples.count("xun") == 3


def test_help_names_every_option_and_no_other() -> None:
    names = {name for action in make_parser()._actions for name in action.option_strings}
    body = HELP[HELP.index("\nsession\n") : HELP.index("examples:")]
    mentioned = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", body)) - {"-p"} | {"-p"}
    assert names == mentioned
    for line in body.splitlines():
        if re.match(r"  -", line) and "-V" not in line:
            assert "default" in line or "no ID" in line, line


def test_version_and_help(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).stdout == f"xun {__version__}\n"
    assert run("-h", cwd=tmp_path).stdout == HELP
    assert run("--mode", "ask", "--help", cwd=tmp_path).stdout == HELP


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--nope"], "unrecognized arguments: --nope"),
        (["--mode", "yolo", "x"], "invalid choice: 'yolo'"),
        (["sesions", "list"], "did you mean `xun sessions`"),
        (["fix", "the", "test"], 'quote it: xun "fix the test"'),
        (["-c", "-r", "x"], "-c and -r don't go together"),
        (["--fork", "x"], "--fork needs -c or -r"),
        (["-C", "/nonexistent", "x"], "no such folder"),
        (["--max-steps", "0", "x"], "whole number"),
        (["--timeout", "nan", "x"], "positive number"),
        (["--demo", "-m", "x"], "don't go together"),
    ],
)
def test_wrong_command_line_is_one_sentence(argv: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(argv)
    assert words in str(caught.value)


def test_no_prompt_and_no_terminal(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no prompt" in done.stderr


def test_options_as_given(tmp_path: Path) -> None:
    options, _ = parse(["-p", "--allow-write", ".", "--allow-command", "npm test", "-C", str(tmp_path), "do it"])
    assert (options.headless, options.prompt, options.allow_write) == (True, "do it", ["."])
    assert (options.allow_command, options.cwd) == (["npm test"], tmp_path)
    file = tmp_path / "prompt.md"
    file.write_text("from a file")
    options, _ = parse([str(file), "--output", "json"], file_prompt=True)
    assert (options.headless, options.prompt, options.output) == (True, "from a file", "json")
    with pytest.raises(UsageError, match="can't be read"):
        parse([str(tmp_path / "none")], file_prompt=True)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder that takes the names of everything that xun imports."""
    for name in ("rich", "xun", "xun_policies", "xun_builtin_tools", "pydantic", "prompt_toolkit"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"open({str(tmp_path / 'pwn')!r}, 'a').write({name!r})\n")
    for name in ("openai", "argparse", "json", "tomllib"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'pwn')!r}, 'a').write({name!r})\n")
    return tmp_path


LAUNCHES = [
    ({}, ()),
    ({"PYTHONPATH": "."}, ()),
    ({"PYTHONPATH": ":"}, ()),
    ({"PYTHONPATH": "{cwd}"}, ()),
    ({"PYTHONPATH": "{cwd}:./"}, ()),
    ({}, ("-m",)),
    ({}, ("-I",)),
    ({"PYTHONPATH": "."}, ("-P",)),
]


@pytest.mark.parametrize(("env", "python"), LAUNCHES)
def test_hostile_folder_is_never_imported(hostile: Path, env: dict[str, str], python: tuple[str, ...]) -> None:
    env = {key: value.format(cwd=hostile) for key, value in env.items()}
    flags = tuple(flag for flag in python if flag != "-m") or (("-B",) if python else ())
    # A standard module that Python itself loads before any line of ours can't be guarded against with PYTHONPATH.
    for name in ("json", "argparse", "tomllib"):
        if "PYTHONPATH" in env or python == ("-m",):
            (hostile / f"{name}.py").unlink()
    done = run("policy", "test", "ls", cwd=hostile, env=env, python=flags)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (hostile / "pwn").exists()


@pytest.mark.parametrize("folder", ["", "policies", "builtin_tools", "xun", "xun_cli", "tests"])
@pytest.mark.parametrize("path", ["", "."])
def test_developer_inside_the_checkout(folder: str, path: str, tmp_path: Path) -> None:
    env = {"PYTHONPATH": path, "XUN_HOME": str(tmp_path)} if path else {"XUN_HOME": str(tmp_path)}
    done = run("policy", "test", "ls", cwd=ROOT / folder, env=env)
    assert (done.returncode, done.stderr) == (0, "")


def test_environment_is_left_alone(tmp_path: Path) -> None:
    script = (
        "import sys, os; sys.argv = ['xun', '-V']; from xun_cli._entry import main; main()\n"
        "print(os.environ['PYTHONPATH'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "x:y"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "x:y"


def test_every_command_word_has_a_module() -> None:
    for word in COMMANDS:
        if word != "run":
            assert (ROOT / "xun_cli" / "subcommands" / f"{word}.py").is_file()


def test_settings_and_model_choice_load_nothing_heavy(tmp_path: Path) -> None:
    """What an interactive start does before its prompt is drawn."""
    (tmp_path / ".home").mkdir()
    (tmp_path / ".home" / "config.toml").write_text('mode = "plan"\n')
    script = (
        "import sys\n"
        "from xun_cli.start import prepare, wants_plain\n"
        "from xun_cli.model_choice import choose_model, needs_offer\n"
        "from xun_cli.options import StartOptions\n"
        "from xun_cli.places import Places\n"
        "options = StartOptions()\n"
        "settings = prepare(options, Places.from_environment())\n"
        "assert settings.mode == 'plan'\n"
        "assert needs_offer(options, settings) and wants_plain(settings)\n"
        "assert choose_model(options, settings, interactive=True).kind == 'demo'\n"
        "sys.stderr.write('\\n'.join(sys.modules))\n"
    )
    env = {key: value for key, value in os.environ.items() if not key.startswith(("XUN_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**env, "XUN_HOME": str(tmp_path / ".home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stderr.split())
    assert loaded.isdisjoint({*HEAVY, "argparse", "importlib.metadata", "urllib.request", "logging", "subprocess"})
