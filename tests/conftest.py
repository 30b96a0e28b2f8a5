"""Isolation of every test: a home, a config and an environment of its own."""

from __future__ import annotations

import gc
import os
import sys
from itertools import count
from pathlib import Path

import pytest

# Some machines write no bytecode. Hundreds of tests start xun as a process: without it each of them would compile all
# that it imports, and each worker rewrite the assertions of every test file again at each run.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_NUMBERS = count()
_LEFT_ALONE = {"PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "XUN_REQUIRE_PARTS", "XUN_UPDATE_SNAPSHOTS"}
_PREFIXES = ("XUN_", "OPENAI_", "GIT_", "XDG_", "_XUN_")


@pytest.fixture(autouse=True)
def isolated_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a home folder of its own and no setting of the machine; returns that folder."""
    # By hand: `mktemp` also keeps a link to the latest, which nobody reads.
    home = tmp_path_factory.getbasetemp() / f"home-{next(_NUMBERS)}"
    home.mkdir(mode=0o700)
    for name in list(os.environ):
        if name.startswith(_PREFIXES) and name not in _LEFT_ALONE:
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "PAGER", "EDITOR", "VISUAL", "BASH_ENV", "ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the thousands of collected tests out of garbage collection: with them it takes a second or two each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Where all parts of the system must be there (CI), a test skipped for a missing part is a failure."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("XUN_REQUIRE_PARTS"):
        report.outcome = "failed"
        report.longrepr = f"skipped although XUN_REQUIRE_PARTS is set: {report.longrepr}"
