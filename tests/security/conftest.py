"""Rows of `tests/corpus/security.jsonl` as tests.

How to use it: mark each test with the rows that it runs, ``@pytest.mark.row("sec-git-001", "sec-git-002")``, on the
function or on one ``pytest.param(..., marks=pytest.mark.row(...))``; build what the row's `setup` says, do its `action`
by the real tools (`ToolBox.call_tool`), assert its `expect`, then try its siblings. When every row of an area has a
test, add the area to CLAIMED in `test_every_row.py`: from then on a row without a test fails there.
A test that takes the fixture `room` runs twice when the user is root: as root, and as an ordinary user.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.room import NOBODY, TAKES_PATH, Room, become
from xun import Workspace
from xun.environment import EnvironmentUnusable
from xun.environment.bwrap import Bubblewrap
from xun.environment.landlock import Landlock
from xun_policies.shell.environment import child_environment

PACKAGES = ("xun_policies", "xun", "xun_builtin_tools")


@pytest.fixture(params=["root", "nobody"] if os.geteuid() == 0 else ["self"])
def room(request: pytest.FixtureRequest, isolated_environment: Path) -> Iterator[Room]:
    """A workspace with something secret beside it; see `tests/fakes/room.py`."""
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="xun-room-")))
    user = os.geteuid()
    if request.param == "nobody":
        user = NOBODY
        if any(not folder.stat().st_mode & 0o001 for folder in base.parents):
            pytest.skip(f"an ordinary user can't reach {base}")
        request.getfixturevalue("all_is_loaded")
        os.chown(base, NOBODY, NOBODY)
    made = Room(base, user)
    yield made
    shutil.rmtree(base)


@pytest.fixture(scope="session")
def all_is_loaded() -> None:
    """Load what the tools load late: the checkout and Python itself may be in folders that only root may enter."""
    for name in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    with tempfile.TemporaryDirectory(prefix="xun-warm-") as base:
        room = Room(Path(os.path.realpath(base)), os.geteuid())
        room.furnish()
        for number, (_, tool, arguments) in enumerate(TAKES_PATH * 2):
            name = f"warm{number}.py"
            room.file(name, "import os\n" if number % 2 else "\xe9")
            for path in (name, ".", "../out"):
                room.call(tool, **arguments(path))
        room.close()


@pytest.fixture(scope="session")
def walls() -> list[str]:
    """The walls that work here, each by its own proof."""
    folder = tempfile.mkdtemp(prefix="xun-walls-")
    workspace = Workspace(folder)
    found = []
    for name, wall in (
        ("bubblewrap", Bubblewrap(lambda: [folder], lambda: [folder])),
        ("landlock", Landlock(lambda: [folder])),
    ):
        try:
            wall.test(child_environment(os.environ))
            found.append(name)
        except EnvironmentUnusable:
            pass
        wall.close()
    workspace.close()
    os.rmdir(folder)
    return found


@pytest.fixture(params=["bubblewrap", "landlock"])
def wall(request: pytest.FixtureRequest, walls: list[str]) -> str:
    """The name of a wall that works here."""
    if request.param not in walls:
        pytest.skip(f"{request.param} does not work on this machine")
    return str(request.param)


@pytest.fixture
def bubblewrap(walls: list[str]) -> str:
    """Landlock knows no exceptions inside a folder: SECURITY.md names it."""
    if "bubblewrap" not in walls:
        pytest.skip("bubblewrap does not work on this machine")
    return "bubblewrap"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Run a test in a room; as another user in a child, which gives up root."""
    room = pyfuncitem.funcargs.get("room")
    if not isinstance(room, Room):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}

    def body() -> None:
        room.furnish()
        try:
            pyfuncitem.obj(**arguments)
            room.verify()
        finally:
            room.close()

    if room.user == os.geteuid():
        body()
    else:
        _in_child(room, body)
    return True


def _in_child(room: Room, body) -> None:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads: those of the test runner take no part in what the child does.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        text = ""
        try:
            become(room.user, room.base)
            tempfile.tempdir = None
            body()
        except pytest.skip.Exception as exc:
            text = f"skipped: {exc}"
        except BaseException:
            text = traceback.format_exc()
        finally:
            with os.fdopen(writing, "w", errors="replace") as pipe:
                pipe.write(text)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text.startswith("skipped: "):
        pytest.skip(text.removeprefix("skipped: "))
    assert not text and status == 0, f"as user {room.user}:\n{text or status}"
