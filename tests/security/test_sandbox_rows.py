"""The sandbox rows of the security corpus, behind each wall that this machine has; those about git are beside it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.persons import Person
from tests.fakes.room import Room
from tests.fakes.walls import PYTHON, fails, held, run, sandbox, works
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment import EnvironmentUnusable
from xun.environment.confinement import in_view
from xun.environment.landlock import Landlock, abi
from xun_policies.shell.environment import child_environment

# -- 001: what can be written -----------------------------------------------------------------------


@pytest.mark.row("sec-sandbox-001")
def test_only_the_workspace_and_temporary_folders_can_be_written(room: Room, wall: str) -> None:
    outside = room.base / "made-outside"
    home = Path(os.environ["HOME"])
    (home / ".bashrc").touch()
    with sandbox(room, wall) as environment:
        for command in (
            "touch /etc/xun-was-here",
            "echo x >> ~/.bashrc",
            f"ln {room.out}/b {room.w}/hard",
            "touch /usr/bin/xun-was-here",
        ):
            fails(environment, command)
        for command in (
            f"touch {outside}",
            f"echo x > {room.out}/secret",
            f"rm {room.out}/b",
            f"mv {room.out}/b {room.w}/b",
            f"mkfifo {room.out}/pipe",
            f"truncate -s 0 {room.out}/b",
        ):
            held(environment, command)
        for command in (
            "echo x > ok && cat ok",
            "echo x > /dev/null",
            'made=$(mktemp) && echo x > "$made"',
            "mkdir -p a/b && mv a/b c && ln -s c d && rm -r a c d",
            f'echo x > {room.w}/deep && cat "{room.w}/deep"',
            "dd if=/dev/zero of=big bs=1k count=8 status=none && truncate -s 1 big",
            "(echo x > /dev/tty) 2> /dev/null || true",
        ):
            works(environment, command)
    assert (room.w / "ok").read_text() == "x\n" and not outside.exists()
    assert (home / ".bashrc").read_text() == "" and not Path("/etc/xun-was-here").exists()


def test_the_temporary_folder_lasts_over_the_commands_and_not_longer(room: Room, wall: str) -> None:
    with sandbox(room, wall) as environment:
        file = "/tmp/kept" if wall == "bubblewrap" else "$TMPDIR/kept"
        works(environment, f"echo kept > {file}")
        _, text = run(environment, f"cat {file}; echo ${{TMPDIR:-/tmp}}")
        assert text.startswith("kept\n")
        works(environment, f"ln -s {room.out} {file}-link")
    assert not Path("/tmp/kept").exists()
    room.verify()
    with sandbox(room, wall) as environment:
        fails(environment, f"cat {file}")


@contextmanager
def service(family: int, kind: int, address) -> Iterator[socket.socket]:
    """A service of the machine that says yes to everyone."""
    server = socket.socket(family, kind)
    server.bind(address)
    if kind == socket.SOCK_STREAM:
        server.listen()
    try:
        yield server
    finally:
        server.close()


# -- 002: the network and other services ------------------------------------------------------------

REACHES = {
    "tcp": "(exec 3<> /dev/tcp/127.0.0.1/$TCP)",
    "python tcp": f'{PYTHON} -c \'import os, socket; socket.create_connection(("127.0.0.1", int(os.environ["TCP"])))\'',
    "tcp6": f"{PYTHON} -c 'import socket; socket.create_connection((\"::1\", 9), 1)'",
    "udp": f"{PYTHON} -c 'import os, socket; s = socket.socket(2, 2); s.settimeout(1); "
    's.sendto(b"x", ("127.0.0.1", int(os.environ["UDP"]))); s.recv(1)\'',
    "raw": f"{PYTHON} -c 'import socket; socket.socket(17, 3)'",
    "mptcp": f"{PYTHON} -c 'import os, socket; s = socket.socket(2, 1, 262); "
    's.connect(("127.0.0.1", int(os.environ["TCP"])))\'',
    "abstract": f'{PYTHON} -c \'import os, socket; socket.socket(1).connect("\\0" + os.environ["ABSTRACT"])\'',
    "unix": f"{PYTHON} -c 'import os, socket; socket.socket(1).connect(os.environ[\"UNIX\"])'",
    "resolve": "getent hosts xun.invalid-host.example || getent hosts deb.debian.org",
    "curl": "curl -sS -m 2 http://127.0.0.1:$TCP/",
    "ping": "ping -c 1 -W 1 192.0.2.1",
}


@pytest.mark.row("sec-sandbox-002")
def test_the_network_and_services_of_the_machine_are_out_of_reach(room: Room, wall: str) -> None:
    abstract, path = f"xun-{os.getpid()}", str(room.base / "service.sock")
    inet = (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
    with (
        service(*inet) as tcp,
        service(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)) as udp,
        service(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract}"),
        service(socket.AF_UNIX, socket.SOCK_STREAM, path),
        sandbox(room, wall) as environment,
    ):
        udp.settimeout(0.0)
        variables = {
            "TCP": str(tcp.getsockname()[1]),
            "UDP": str(udp.getsockname()[1]),
            "ABSTRACT": abstract,
            "UNIX": path,
        }
        for name, command in REACHES.items():
            # A socket with a path is the known gap of Landlock: SECURITY.md names it.
            if not (wall == "landlock" and name == "unix"):
                fails(environment, command, **variables)
        with pytest.raises(OSError):
            udp.recv(1)
        for name in ("tcp", "python tcp"):  # what failed was there
            works(environment, REACHES[name], "network", **variables)
        works(environment, f"{PYTHON} -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1)'")
        own = 's = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()'
        works(environment, f"{PYTHON} -c 'import socket; {own}'")
        if wall == "bubblewrap":
            fails(environment, REACHES["unix"], "network", **variables)
            if abi() >= 6:  # the namespace is that of the machine then
                fails(environment, REACHES["abstract"], "network", **variables)
            fails(environment, REACHES["abstract"], **variables)
            works(environment, f"{PYTHON} -c 'import socket; {own}; socket.create_connection(s.getsockname())'")


# -- 004: no wall ------------------------------------------------------------------------------------


def _broken(room: Room, kind: str) -> str:
    folder = room.base / "bin"
    folder.mkdir()
    if kind == "no namespaces":
        (folder / "bwrap").write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    elif kind == "holds nothing":
        script = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
        (folder / "bwrap").write_text(script)
    if kind != "missing":
        (folder / "bwrap").chmod(0o755)
    return f"{folder}:/usr/bin:/bin" if kind != "missing" else "/nowhere"


@pytest.mark.row("sec-sandbox-004")
@pytest.mark.parametrize("kind", ["missing", "no namespaces", "holds nothing"])
def test_without_a_wall_required_refuses_and_auto_says_so(room: Room, kind: str) -> None:
    path = _broken(room, kind)
    said = {"missing": "PATH has none", "no namespaces": "uid map", "holds nothing": "does not hold"}[kind]
    for mode in ("required", "auto"):
        with sandbox(room, mode=mode) as environment:
            # The kernel's Landlock can't be taken away here; a version of 0 is what it says where there is none.
            environment._walls.landlock.version = 0
            os.environ["PATH"] = path
            assert environment.wall == "none" and said in environment.reason and "Landlock" in environment.reason
            if mode == "required":
                with pytest.raises(EnvironmentUnusable, match="A sandbox is required, and this machine has none"):
                    environment.spawn("touch made")
                assert not (room.w / "made").exists()
            else:
                works(environment, ": > made")


@pytest.mark.row("sec-sandbox-004")
def test_a_wall_that_stops_working_is_never_replaced_by_a_weaker_one(room: Room, bubblewrap: str) -> None:
    path = os.environ["PATH"]
    shown = room.base / "bin"
    shown.mkdir()
    real = shutil.which("bwrap")
    assert real
    (shown / "bwrap").symlink_to(real)
    os.environ["PATH"] = f"{shown}:{path}"
    try:
        with sandbox(room, bubblewrap) as environment:
            works(environment, "true")
            (shown / "bwrap").unlink()
            with pytest.raises((EnvironmentUnusable, OSError), match="bwrap"):
                environment.spawn("touch made")
            assert environment.wall == "bubblewrap"
    finally:
        os.environ["PATH"] = path
    assert not (room.w / "made").exists()


# -- 005: the program ----------------------------------------------------------------------------------


@pytest.mark.row("sec-sandbox-005")
@pytest.mark.parametrize("how", ["named", "linked", "relative"])
def test_a_bwrap_of_the_project_is_never_used(
    room: Room, bubblewrap: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    planted = room.file("bwrap", f"#!/bin/sh\ntouch {room.base}/canary\n")
    planted.chmod(0o755)
    links = room.base / "links"
    links.mkdir()
    (links / "bwrap").symlink_to(planted)
    first = {"named": str(room.w), "linked": str(links), "relative": "."}[how]
    monkeypatch.chdir(room.w)
    monkeypatch.setenv("PATH", f"{first}:{os.environ['PATH']}")
    with sandbox(room, bubblewrap) as environment:
        works(environment, "true")
        assert str(room.base) not in environment.reason
    assert not (room.base / "canary").exists()


# -- 006: attacks ------------------------------------------------------------------------------------

ATTACKS = {
    "mount": "mount -t tmpfs none /mnt",
    "namespace": "unshare -Ur true",
    "namespace mount": "unshare -Urm mount -t tmpfs none /etc",
    "sysrq": "echo h > /proc/sysrq-trigger",
    "sysctl": "echo 1 > /proc/sys/vm/drop_caches",
    "core dumps": 'v=$(cat /proc/sys/kernel/core_pattern); echo "$v" > /proc/sys/kernel/core_pattern',
    "kill": "kill -0 $OUTSIDE",
    "memory": f'{PYTHON} -c \'import os; open("/proc/" + os.environ["OUTSIDE"] + "/mem", "rb")\'',
    "ptrace": f"{PYTHON} -c 'import ctypes, os; "
    'assert ctypes.CDLL(None).ptrace(16, int(os.environ["OUTSIDE"]), 0, 0) == 0\'',
    "setuid": "su nobody -s /bin/true < /dev/null",
    "device": "mknod dev b 8 0",
    "keyring": f"{PYTHON} -c 'import ctypes; assert ctypes.CDLL(None).syscall(250, 11, -3, 0, 0, 0) < -1'",
    "uring": f"{PYTHON} -c 'import ctypes; b = ctypes.create_string_buffer(120); "
    "assert ctypes.CDLL(None).syscall(425, 4, b) >= 0'",
}
BUBBLEWRAP_ONLY = {
    "chmod": "chmod 666 $FILE",
    "chown": "chown $(id -u) $FILE",
    "touch": "touch -d 2000-01-01 $FILE",
}


@pytest.mark.row("sec-sandbox-006")
def test_attacks_fail(room: Room, wall: str) -> None:
    mine = room.out / "b"
    before = mine.stat()
    as_root = os.geteuid() == 0
    with sandbox(room, wall) as environment:
        works(environment, "grep -q '^NoNewPrivs:\t1' /proc/self/status")
        for name, command in {**ATTACKS, **BUBBLEWRAP_ONLY}.items():
            gap = {
                # Landlock leaves root its capabilities, and does not know these at all: SECURITY.md names it.
                "landlock": {*BUBBLEWRAP_ONLY, "namespace", "setuid", "device" if as_root else ""},
                # The ring is of no use without a network.
                "bubblewrap": {"uring"},
            }[wall]
            if name not in gap:
                fails(environment, command, OUTSIDE=str(os.getpid()), FILE=str(mine))
    after = mine.stat()
    if wall == "bubblewrap":
        assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (before.st_mode, before.st_uid, before.st_mtime_ns)
    os.utime(mine, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_keys_cannot_be_read(room: Room, wall: str) -> None:
    home = Path(os.environ["HOME"])
    for name in (".ssh/id_test", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".config/xun/credentials"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("hush")
    (home / "tool").write_text("echo tool\n")
    with sandbox(room, wall) as environment:
        works(environment, "sh ~/tool")
        for name in (".ssh/id_test", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".config/xun/credentials"):
            for view in ("closed", "network", "machine"):
                _, text = run(environment, f"cat ~/{name}", view)
                assert "hush" not in text, (name, view)


def test_keys_are_gone_also_when_the_home_folder_is_the_workspace(
    room: Room, bubblewrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(room.w))
    room.file(".ssh/id_test", "hush")
    with sandbox(room, bubblewrap) as environment:
        _, text = run(environment, "cat .ssh/id_test")
        assert "hush" not in text
        works(environment, "touch ok")
    assert (room.w / ".ssh/id_test").read_text() == "hush" and (room.w / "ok").exists()


# -- 007: one command outside --------------------------------------------------------------------------


@pytest.mark.row("sec-sandbox-007")
def test_out_of_the_sandbox_is_for_one_command(room: Room, wall: str) -> None:
    asker = Person("grant")
    with sandbox(room, wall) as environment:
        config = AgentConfig(risk_enabled=False, environment=environment)
        made: Agent = Agent(
            toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(room.w), chooser=asker, config=config
        )
        with made as agent:

            def bash(**arguments):
                return agent.toolbox.call_tool(agent, "bash", arguments, None).unwrap()

            command = f"echo x > {room.base}/out-of-it"
            inside = bash(command=command)
            assert inside["returncode"] != 0 or not (room.base / "out-of-it").exists()
            assert bash(command=command, sandbox="off")["returncode"] == 0 and (room.base / "out-of-it").exists()
            (room.base / "out-of-it").unlink()
            again = bash(command=command)
            assert not (room.base / "out-of-it").exists(), again
            # No grant covers it either, although the person said "grant" all the time.
            asked = len(asker.asked)
            bash(command="echo listed", sandbox="off")
            assert len(asker.asked) == asked + 1 and asker.asked[-1].default == "deny"
            assert "leaves the sandbox" in asker.asked[-1].message
            assert not next(option for option in asker.asked[-1].options if option.value == "grant").available
        made.workspace.close()


# -- 008: the cost ---------------------------------------------------------------------------------------


@pytest.mark.row("sec-sandbox-008")
def test_what_a_command_costs(room: Room, wall: str) -> None:
    limit = {"bubblewrap": 0.025, "landlock": 0.002}[wall]
    with sandbox(room, wall) as environment:
        plain = held = float("inf")
        for _ in range(12):  # a machine with other work can be slow for a while
            plain = min(plain, _fastest(environment, "outside"))
            held = min(held, _fastest(environment, "closed"))
            if held - plain <= limit:
                return
    raise AssertionError(f"{wall} costs {(held - plain) * 1000:.1f} ms a command, more than {limit * 1000:g}")


def _fastest(environment, view: str) -> float:
    times = []
    place = in_view(environment, view)
    env = child_environment(os.environ)
    for _ in range(12):
        started = time.perf_counter()
        process = place.spawn(["/bin/true"], env=env)
        process.wait()
        times.append(time.perf_counter() - started)
        process.close()
    return min(times)


# -- 009: the environment ----------------------------------------------------------------------------------


@pytest.mark.row("sec-sandbox-009")
def test_a_secret_of_our_environment_is_nowhere_inside(room: Room, wall: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hush-9")
    monkeypatch.setenv("INNOCENT", "hush-9")
    with sandbox(room, wall) as environment:
        look = "tr '\\0' '\\n' < /proc/1/environ; tr '\\0' '\\n' < /proc/self/environ; env"
        if wall == "bubblewrap":
            look += "; cat /proc/*/environ"
        _, text = run(environment, look)
        assert "PATH=" in text and "hush-9" not in text


# -- 010: the host stays free ------------------------------------------------------------------------------


@pytest.mark.row("sec-sandbox-010")
def test_the_wall_is_around_the_command_and_not_around_us(room: Room, wall: str) -> None:
    with sandbox(room, wall) as environment:
        failed: list[BaseException] = []

        def one(number: int) -> None:
            try:
                fails(environment, f"touch /etc/xun-{number}")
            except BaseException as exc:
                failed.append(exc)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        (room.base / "record").write_text("written while they ran")
        for thread in threads:
            thread.join()
        assert failed == []
        (room.base / "record").write_text("and after")
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
        # The filter for system calls is on the child's thread alone.
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def test_the_landlock_of_older_kernels_is_asked_for_less(room: Room) -> None:
    if abi() < 4:
        pytest.skip("the kernel's Landlock is older itself")
    for version in range(1, abi() + 1):
        wall = Landlock(lambda: [str(room.w)], version=version)
        try:
            env = child_environment(os.environ)
            wall.test(env)
            for command in (f"echo x > {room.out}/secret", "(exec 3<> /dev/tcp/127.0.0.1/9)"):
                process = wall.start(command, str(room.w), env, stdin=False, view="closed")
                said = process.stderr.read().decode()
                assert process.wait() != 0 and "denied" in said, (version, said)
                process.close()
        finally:
            wall.close()


def test_the_answer_to_a_question_about_leaving_is_no_by_rule(room: Room, wall: str) -> None:
    """auto_confirm takes the default, which is no; nobody there is no as well."""
    for config in (AgentConfig(auto_confirm=True, risk_enabled=False), AgentConfig(risk_enabled=False)):
        with sandbox(room, wall) as environment:
            config.environment = environment
            with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(room.w), config=config) as agent:
                agent.policy.auto_remaining = 3
                agent.policy.command_allowlist.add(["touch"])
                call = {"command": f"touch {room.base}/made", "sandbox": "off"}
                result = agent.toolbox.call_tool(agent, "bash", call, None)
                assert result.status == "denied" and 'sandbox="off"' in result.unwrap_err().error
                agent.workspace.close()
    assert not (room.base / "made").exists()
