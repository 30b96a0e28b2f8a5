"""The walk under glob and grep: what it lists, and that what it remembers is as good as a fresh look."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xun.tools.toolbox import ToolBox
from xun_builtin_tools import search
from xun_builtin_tools.search.engine import SearchOptions
from xun_builtin_tools.search.folders import open_folder, opened
from xun_builtin_tools.search.memory import MAX_TREES, Memory, Seen, keeps_time
from xun_builtin_tools.search.request import NamePattern, Scope, file_filter, path_pattern
from xun_builtin_tools.search.walk import Walk
from xun_policies.workspace import Workspace

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for its mounts")
NAMES = ("a", "b", "out", "x.py", "y.log", "é", ".h", "a\nb", "x y")
RULES = ("*.log", "out/", "b", "!b", "/a/b", "[!a]*", "!*.py", "**/out", "a/**", "{a,b}", "*", "!*/", "é*")


def nothing() -> None:
    return


def scope(folder: Path, inside: Path | None = None, **changes: Any) -> Scope:
    around = f"{inside or folder}/"
    fields: dict[str, Any] = {"file": None, "hidden": True, "gitignore": True, "boundary": inside or folder}
    return Scope(folder=folder, inside=lambda real: f"{real}/".startswith(around), **{**fields, **changes})


def listed(place: Scope, memory: Memory, pattern: NamePattern | None = None) -> tuple[list[str], list[str], int]:
    """Return the paths that a walk lists, what it skips, and how many folders it read for that."""
    walk = Walk(place, memory, nothing, pattern)
    paths = sorted(folder + name for folder, names in walk.listed() for name in names)
    return paths, sorted(walk.skipped), walk.looked_into


def quick(**more: Any) -> Memory:
    """Return a memory for tests that pause after each change, instead of two seconds."""
    return Memory(settled=0.0, **more)


def pause() -> None:
    time.sleep(0.012)


def tree(root: Path) -> Path:
    for name in ("a/b/c/deep", "a/d/one", "e/two.log", "top.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle\n", "utf-8")
    pause()
    return root


def test_the_second_walk_reads_no_folder_and_lists_the_same(tmp_path: Path) -> None:
    memory, place = quick(), scope(tree(tmp_path))
    first, _, read = listed(place, memory)
    assert first == ["a/b/c/deep", "a/d/one", "e/two.log", "top.py"] and read == 6
    assert listed(place, memory) == (first, [], 0)
    assert listed(place, memory, path_pattern("**/*.py", place, True)) == (["top.py"], [], 0)


def test_of_a_change_only_the_folder_is_read_again(tmp_path: Path) -> None:
    memory, place = quick(), scope(tree(tmp_path))
    listed(place, memory)
    (tmp_path / "a/d/one").write_text("other\n", "utf-8")
    assert listed(place, memory)[2] == 0
    (tmp_path / "a/d/one").rename(tmp_path / "a/d/uno")
    assert listed(place, memory) == (["a/b/c/deep", "a/d/uno", "e/two.log", "top.py"], [], 1)


def test_what_changed_just_now_is_read_again(tmp_path: Path) -> None:
    memory, place = Memory(), scope(tree(tmp_path))
    assert [listed(place, memory)[2] for _ in range(2)] == [6, 6]


def test_a_file_that_became_a_link_is_no_file_any_more(tmp_path: Path) -> None:
    memory, place = quick(), scope(tree(tmp_path / "work"))
    (tmp_path / "secret").write_text("s", "utf-8")
    listed(place, memory)
    (tmp_path / "work/a/d/one").unlink()
    (tmp_path / "work/a/d/one").symlink_to(tmp_path / "secret")
    paths, skipped, _ = listed(place, memory)
    assert "a/d/one" not in paths and skipped == ["a/d/one"]


def test_a_folder_that_became_a_link_is_not_walked(tmp_path: Path) -> None:
    memory, place = quick(), scope(tree(tmp_path / "work"))
    tree(tmp_path / "other")
    (tmp_path / "other/a/secret").write_text("s", "utf-8")
    listed(place, memory)
    (tmp_path / "work/a").rename(tmp_path / "was")
    (tmp_path / "work/a").symlink_to(tmp_path / "other/a")
    assert listed(place, memory)[:2] == (["e/two.log", "top.py"], ["a"])


def test_where_a_link_leads_is_looked_up_each_time(tmp_path: Path) -> None:
    """What it leads to may change without a change of the folder that it is in."""
    memory, place = quick(), scope(tree(tmp_path / "work"))
    (tmp_path / "work/link").symlink_to("a/b/c/deep")
    pause()
    assert listed(place, memory)[1] == []
    (tmp_path / "work/a/b/c/deep").unlink()
    (tmp_path / "work/a/b/c/deep").symlink_to(tmp_path)
    assert listed(place, memory)[1] == ["a/b/c/deep", "link"]
    assert listed(place, memory, file_filter("*.py"))[1] == []


def test_the_rules_of_another_repository_inside_are_read_each_time(tmp_path: Path) -> None:
    memory, place = quick(), scope(tree(tmp_path))
    (tmp_path / ".gitignore").write_text("one\n", "utf-8")
    exclude = tmp_path / "a/.git/info/exclude"
    exclude.parent.mkdir(parents=True)
    pause()
    # The rules around it end there.
    assert listed(place, memory)[0] == [".gitignore", "a/b/c/deep", "a/d/one", "e/two.log", "top.py"]
    exclude.write_text("deep\n", "utf-8")
    assert listed(place, memory)[0] == [".gitignore", "a/d/one", "e/two.log", "top.py"]
    exclude.write_text("", "utf-8")
    assert "a/b/c/deep" in listed(place, memory)[0]


def test_an_empty_ignore_file_that_gets_rules_is_noticed(tmp_path: Path) -> None:
    memory, place = quick(), scope(tree(tmp_path))
    (tmp_path / "e/.gitignore").write_text("", "utf-8")
    pause()
    assert "e/two.log" in listed(place, memory)[0]
    (tmp_path / "e/.gitignore").write_text("*.log\n", "utf-8")
    assert "e/two.log" not in listed(place, memory)[0]


def test_hidden_and_ignored_names_do_not_mix_between_searches(tmp_path: Path) -> None:
    memory = quick()
    tree(tmp_path)
    (tmp_path / ".h/i").mkdir(parents=True)
    (tmp_path / ".h/i/x.log").write_text("", "utf-8")
    (tmp_path / ".gitignore").write_text("*.log\n", "utf-8")
    pause()
    for _ in range(2):
        found = {
            (hidden, gitignore): len(listed(scope(tmp_path, hidden=hidden, gitignore=gitignore), memory)[0])
            for hidden in (True, False)
            for gitignore in (True, False)
        }
        assert found == {(True, True): 4, (True, False): 6, (False, True): 3, (False, False): 4}


def test_what_is_private_is_not_listed(tmp_path: Path) -> None:
    memory = quick()
    private = scope(tree(tmp_path), private=(str(tmp_path / "a/b"), str(tmp_path / "top.py")))
    for _ in range(2):
        assert listed(private, memory)[0] == ["a/d/one", "e/two.log"]
        assert len(listed(scope(tmp_path), memory)[0]) == 4


def test_no_more_than_a_number_of_folders_files_and_trees_is_remembered(tmp_path: Path) -> None:
    tree(tmp_path)
    few = quick(folders=4)
    assert [listed(scope(tmp_path), few)[2] for _ in range(2)] == [6, 2]
    fewer = quick(names=2)
    assert [listed(scope(tmp_path), fewer)[2] for _ in range(2)] == [6, 2]
    assert len(listed(scope(tmp_path), fewer)[0]) == 4
    memory = quick()
    listed(scope(tmp_path), memory)
    for name in ("a", "e", "a/b", "a/d")[:MAX_TREES]:
        listed(scope(tmp_path / name), memory)
    assert listed(scope(tmp_path), memory)[2] == 6


@needs_linux
def test_only_file_systems_that_keep_the_time_of_a_folder_are_relied_on(tmp_path: Path) -> None:
    for place, expected in ((Path("/proc"), False), (Path("/sys"), False), (Path("/dev/shm"), True)):
        if place.is_dir():
            fd = open_folder(str(place))
            assert keeps_time(fd) is expected
            os.close(fd)
    memory, place = quick(), Path("/proc/sys/vm")
    assert [listed(scope(place), memory)[2] for _ in range(2)] == [1, 1]


def test_a_folder_that_is_gone_meanwhile_is_named_and_the_others_are_opened(tmp_path: Path) -> None:
    tree(tmp_path)
    listing = [("a/d/", ["one"]), ("gone/", ["x"]), ("e/", []), ("", ["top.py"])]
    skipped: list[str] = []
    assert [(one.path, list(one.files)) for one in opened(tmp_path, listing, skipped)] == [listing[0], listing[3]]
    assert skipped == ["gone"]


def test_a_folder_that_cannot_be_opened_is_named_and_the_others_are_walked(tmp_path: Path) -> None:
    """Its path is longer than the system takes, which stops root too."""
    memory, place = quick(), scope(tree(tmp_path))
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("z" * 250, dir_fd=fd)
        below = os.open("z" * 250, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    pause()
    for _ in range(2):
        paths, skipped, _ = listed(place, memory)
        assert len(paths) == 4
        assert len(skipped) == 1 and set(skipped[0]) == {"z", "/"}


@pytest.mark.parametrize("tool", ["glob", "grep"])
def test_links_that_lead_out_are_named_with_ripgrep_and_without(tool: str, tmp_path: Path) -> None:
    work = tree(tmp_path / "work")
    (tmp_path / "outside").mkdir()
    for name, target in (("a/out", tmp_path / "outside"), ("a/in", work / "top.py"), ("dead", tmp_path / "gone")):
        (work / name).symlink_to(target)
    agent: Any = SimpleNamespace(workspace=Workspace(work))
    pattern = {"glob": "**/*", "grep": "needle"}[tool]
    for backend in ("python", "ripgrep", "auto"):
        toolbox = ToolBox().register(*search.tools(SearchOptions(backend=backend)))  # type: ignore[arg-type]
        value = toolbox.call_tool(agent, tool, {"pattern": pattern}, None).unwrap()
        assert value["skipped"] == ["a/out", "dead"], backend


@pytest.mark.parametrize("backend", ["python", "ripgrep", "auto"])
def test_what_the_workspace_ignores_is_left_out_unless_it_is_asked_for_by_name(backend: str, tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "a/link").symlink_to("/")
    options = SearchOptions(backend=backend)  # type: ignore[arg-type]
    toolbox = ToolBox().register(*search.tools(options))

    def found(tool: str, path: str, *ignore: str) -> list[str]:
        agent: Any = SimpleNamespace(workspace=Workspace(tmp_path, ignore=ignore))
        if tool == "glob":
            value = toolbox.call_tool(agent, tool, {"pattern": "**/*", "path": path}, None).unwrap()
            return [*value["paths"], *value.get("skipped", [])]
        value = toolbox.call_tool(agent, tool, {"pattern": "needle", "output": "files", "path": path}, None).unwrap()
        return [*value["files"], *value["skipped"]]

    for tool in ("glob", "grep"):
        assert found(tool, ".", "D/", "*.log", "link") == ["a/b/c/deep", "top.py"]
        assert found(tool, ".", "a/b", "top.py/") == ["a/d/one", "e/two.log", "top.py", "a/link"]
        assert found(tool, "a/b", "a/b", "a/b/c") == ["c/deep"]
        assert found(tool, "e", "*.log") == []
    assert found("grep", "e/two.log", "*.log") == ["two.log"]


def test_what_other_folders_of_a_workspace_ignore_is_found_anew(tmp_path: Path) -> None:
    glob: Any = search.tools()[0]
    glob.__self__._memory = quick()
    toolbox = ToolBox().register(glob)
    tree(tmp_path)

    def found(workspace: Workspace) -> Any:
        agent: Any = SimpleNamespace(workspace=workspace)
        return toolbox.call_tool(agent, "glob", {"pattern": "**/*", "path": str(tmp_path / "a")}, None).unwrap()[
            "paths"
        ]

    assert found(Workspace(tmp_path, ignore=["a/d/one"])) == ["b/c/deep"]
    assert found(Workspace(tmp_path / "a", ignore=["a/d/one"])) == ["b/c/deep", "d/one"]


def test_a_folder_that_two_threads_give_up_at_once_is_given_up_once(tmp_path: Path) -> None:
    memory, place = quick(names=4), scope(tree(tmp_path))
    listed(place, memory)
    kept = memory.tree(place)

    class Late(dict[str, Seen]):
        def get(self, path: str, default: Any = None) -> Any:
            return self.pop(path, default)  # as another thread may, right after

    kept.seen = Late(kept.seen)
    (tmp_path / "e/link").symlink_to("two.log")
    pause()
    assert listed(place, memory)[0] == ["a/b/c/deep", "a/d/one", "e/two.log", "top.py"]


def churn(rng: random.Random, work: Path) -> None:
    """Make one change anywhere below *work*, or none where it can't be made."""
    folders = [work, *(path for path in work.rglob("*") if path.is_dir() and not path.is_symlink())]
    folder = rng.choice([path for path in folders if ".git" not in path.relative_to(work).parts])
    name, rules = folder / rng.choice(NAMES), folder / ".gitignore"
    step = rng.randrange(9)
    try:
        if step < 2:
            name.mkdir()
        elif step < 4:
            name.write_text("x", "utf-8")
        elif step == 4:
            rules.write_text("\n".join(rng.sample(RULES, 2)) + "\n", "utf-8")
        elif step == 5:
            rules.unlink()
        elif step == 6:
            name.rename(work / "a" / rng.choice(NAMES))
        elif step == 7:
            name.symlink_to(rng.choice((work.parent, work / "a", Path("nowhere"))))
        elif name.is_dir() and not name.is_symlink():
            shutil.rmtree(name)
        else:
            name.unlink()
    except OSError:
        return


@pytest.mark.parametrize("seed", range(5))
def test_with_what_is_remembered_it_lists_what_git_and_a_fresh_walk_list(tmp_path: Path, seed: int) -> None:
    rng, work = random.Random(seed), tmp_path / "work"
    memory, small = quick(), quick(folders=5, names=9)
    subprocess.run(["git", "init", "-q", str(work)], check=True, stdin=subprocess.DEVNULL)
    saved = 0
    for _ in range(40):
        churn(rng, work)
        pause()
        fresh = listed(scope(work), Memory())
        remembered = listed(scope(work), memory)
        assert remembered[:2] == fresh[:2] == listed(scope(work), small)[:2]
        saved += fresh[2] - remembered[2]
        command = ["git", "ls-files", "-coz", "--exclude-standard"]
        raw = subprocess.run(command, cwd=work, check=True, capture_output=True).stdout.split(b"\0")
        names = {os.fsdecode(name) for name in raw if name}
        assert fresh[0] == sorted(name for name in names if not (work / name).is_symlink())
    assert saved > 20
