"""What a killed xun left running is ended by the next one, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xun.environment.local import LocalEnvironment
from xun.environment.tags import TAG, end_orphans, group_lives, owner_tag, stat_of
from xun_policies.workspace import Workspace

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")

OWNER = """
import sys, time
from xun.environment.local import LocalEnvironment
from xun_policies.workspace import Workspace
environment = LocalEnvironment(Workspace(sys.argv[1]))
for command in ("sleep 310", "setsid sleep 311 & sleep 312"):
    print(environment.spawn(command).pid, flush=True)
time.sleep(60)
"""


def gone(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_what_a_killed_owner_left_is_ended_and_what_lives_on_is_not(tmp_path: Path) -> None:
    own = LocalEnvironment(Workspace(tmp_path)).spawn("sleep 313")
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as owner:
        assert owner.stdout is not None
        left = [int(owner.stdout.readline()) for _ in range(2)]
        time.sleep(0.1)
        end_orphans()
        assert not any(gone(number) for number in left), "their owner lives"
        owner.kill()
    assert not any(gone(number) for number in left)
    assert end_orphans() >= 3
    end = time.monotonic() + 5
    while not all(gone(number) for number in left) and time.monotonic() < end:
        time.sleep(0.02)
    assert all(gone(number) for number in left)
    assert own.poll() is None, "this process lives, and so does what it started"
    assert own.remaining() == [f"{own.pid} sleep 313"]
    own.kill()
    own.close()


@pytest.mark.parametrize("change", ["namespace", "no owner", "later process", "odd"])
def test_tags_of_others_are_left_alone(change: str) -> None:
    mark, space, number, start = owner_tag().split("-")
    tags = {
        # A container has its own numbers: its xun may well live.
        "namespace": f"{mark}-{int(space) + 1}-999999-{start}",
        "no owner": mark,
        "later process": f"{mark}-{space}-{number}-{start}",
        "odd": f"{mark}-{space}-x-{start}",
    }
    with subprocess.Popen(["sleep", "314"], env={**os.environ, TAG: tags[change]}) as process:
        end_orphans()
        time.sleep(0.05)
        assert process.poll() is None
        process.kill()


def test_a_number_that_another_process_has_by_now_is_no_owner() -> None:
    mark, space, number, start = owner_tag().split("-")
    with subprocess.Popen(
        ["sleep", "315"], env={**os.environ, TAG: f"{mark}-{space}-{number}-{int(start) - 1}.1"}
    ) as process:
        assert end_orphans() >= 1
        assert process.wait(5) == -signal.SIGKILL
    assert stat_of(process.pid) is None


def test_what_ended_and_was_not_waited_for_does_not_live() -> None:
    code = "import os, time; c = os.fork(); c or (os.setpgid(0, 0), os._exit(0)); print(c, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        end = time.monotonic() + 5
        while group_lives(child) and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(child, 0)  # the group is there
        assert not group_lives(child) and group_lives(os.getpgid(parent.pid))
        parent.kill()


def test_a_limit_waits_for_no_process_that_has_ended(tmp_path: Path) -> None:
    environment = LocalEnvironment(Workspace(tmp_path))
    process = environment.spawn("sleep 316 & sleep 317")
    begun = time.monotonic()
    process.kill(20.0)
    assert time.monotonic() - begun < 15
    assert not process.left_running()
    process.close()
