"""Which ripgrep is run, how, and when the search goes the other way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from xun_builtin_tools.search import functions, ripgrep_search
from xun_builtin_tools.search.engine import Engine, SearchOptions
from xun_builtin_tools.search.gitignore import RuleSet
from xun_builtin_tools.search.hits import Hits
from xun_builtin_tools.search.limits import Clock, TimeUp
from xun_builtin_tools.search.memory import Memory
from xun_builtin_tools.search.request import GrepRequest, Scope, Wording
from xun_builtin_tools.search.ripgrep import RipgrepRun, find_ripgrep

RIPGREP = shutil.which("rg")
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")


def nothing() -> None:
    return


def program(folder: Path, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "rg"
    made.write_text(text, "utf-8")
    made.chmod(0o755)
    return made


def scope(folder: Path, **changes: Any) -> Scope:
    fields: dict[str, Any] = {"file": None, "hidden": True, "gitignore": True, "inside": lambda real: True}
    return Scope(folder=folder, boundary=folder, **{**fields, **changes})


def grep(folder: Path, pattern: str, **changes: Any) -> GrepRequest:
    parsed, matcher = Wording(pattern).read()
    fields: dict[str, Any] = dict.fromkeys(("ignore_case", "literal", "word", "dotall"), False)
    fields |= {"filter": None, "before": 0, "after": 0, "output": "matches", "codec": None, "scope": scope(folder)}
    return GrepRequest(parsed=parsed, matcher=matcher, **{**fields, **changes})


def test_a_program_of_the_workspace_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, tools = tmp_path / "work", tmp_path / "tools"
    program(work / "bin")
    own = program(tools)
    monkeypatch.chdir(work / "bin")
    monkeypatch.setattr("sys.executable", str(tmp_path / "none" / "python"))

    def inside(real: str) -> bool:
        return Path(real).is_relative_to(work)

    monkeypatch.setenv("PATH", os.pathsep.join([".", "", "bin", str(work / "bin"), str(tools)]))
    assert find_ripgrep(inside) == str(own)
    own.unlink()
    # Nor one that a link outside leads to.
    own.symlink_to(work / "bin" / "rg")
    assert find_ripgrep(inside) is None


def test_the_program_gets_no_environment_no_input_and_is_killed_at_the_limit(tmp_path: Path) -> None:
    slow = program(
        tmp_path, '#!/bin/sh\necho "[$RIPGREP_CONFIG_PATH$HOME$1]"\nread line || echo closed\nexec sleep 60\n'
    )
    start = time.monotonic()
    got: list[bytes] = []
    with RipgrepRun(str(slow), ["-x"], tmp_path, Clock(0.5, nothing)) as run:
        with pytest.raises(TimeUp):
            got.extend(run.lines())
        pid = run.pid
    assert got == [b"[--no-config]", b"closed"]
    assert time.monotonic() - start < 5
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@needs_ripgrep
def test_ripgrep_itself_serves_ordinary_ignore_files(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
    lines = "# build\n*.py[cod]\n__pycache__/\n/dist/\n!keep.me\n[Bb]in/\n**/target/\ndocs/**/*.tmp\n.env*\n*~\n"
    (tmp_path / ".gitignore").write_text(lines, "utf-8")
    for name in ("a.txt", "a.pyc", "dist/x", "s/bin/x", "s/target/x", "docs/a/b.tmp", ".env.local", "keep.me"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("needle\n", "utf-8")
    hits = Hits("matches")
    ripgrep_search.RipgrepSearch(grep(tmp_path, "needle"), str(RIPGREP), Clock(20, nothing), hits, Memory()).run()
    assert sorted(hits.counts) == ["a.txt", "keep.me"]


@needs_ripgrep
@pytest.mark.parametrize("line", ["{a,b}.txt", "a\t", "\ufeffa", "!", "a\\ ", "[[:alpha:]]x", "x/a**"])
def test_where_ripgrep_reads_rules_otherwise_the_search_goes_the_other_way(line: str, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / ".gitignore").write_text(line + "\n", "utf-8")
    (tmp_path / "s" / "f").write_text("needle\n", "utf-8")
    with pytest.raises(ripgrep_search.Unequal):
        ripgrep_search.RipgrepSearch(
            grep(tmp_path, "needle"), str(RIPGREP), Clock(20, nothing), Hits("matches"), Memory()
        ).run()
    hits, _ = Engine(SearchOptions(backend="ripgrep"), nothing).grep(grep(tmp_path, "needle"))
    assert hits.counts == {"s/f": 1}


def test_the_rules_of_common_templates_are_plain() -> None:
    lines = b"*.py[cod]\n*$py.class\n[Dd]ebug/\n**/*.log\nfoo/**/bar\n/a/b/*.o\n!.vscode/settings.json\n.*\n*~\n#x\n"
    assert RuleSet(lines).plain


@needs_ripgrep
def test_a_large_tree_goes_to_ripgrep_and_a_small_one_does_not(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    wrapper = program(tmp_path / "tools", f'#!/bin/sh\n: > "{marker}"\nexec "{RIPGREP}" "$@"\n')
    work = tmp_path / "work"
    for folder in range(40):
        (work / str(folder)).mkdir(parents=True)
        for name in range(10):
            (work / str(folder) / f"{name}.txt").write_text("needle\n", "utf-8")

    def search(folder: Path) -> int:
        engine = Engine(SearchOptions(), nothing)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", str(wrapper.parent))
            return engine.grep(grep(folder, "needle", scope=scope(folder, inside=lambda real: False)))[0].total

    assert search(work / "1") == 10
    assert not marker.exists()
    assert search(work) == 400
    assert marker.exists()


def test_nothing_heavy_is_imported_with_the_group() -> None:
    code = (
        "import sys; from xun_builtin_tools import search; search.tools();"
        "print([m for m in ('pydantic', 'xun_builtin_tools.search.engine') if m in sys.modules])"
    )
    root = Path(functions.__file__).parents[3]
    env = {"PYTHONPATH": os.pathsep.join(map(str, (root, root / "builtin_tools", root / "policies")))}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
