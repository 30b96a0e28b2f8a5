"""The audit trail: one line per decision, private, bounded, shared by processes, and never in the way."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xun_policies.audit import KEPT, MAX_SUBJECT, AuditTrail, read_audit
from xun_policies.store import DecisionRecord


def record(subject: str, **more: str) -> DecisionRecord:
    return DecisionRecord("2026-11-29T12:00:00+00:00", "bash", subject, "allow", "user", "not-listed", **more)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_line_holds_all_of_a_decision_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path / "state/audit.jsonl", "s1")
    said = trail.append(record("rm 'a\nb'", risk="unsure", agent="main", cwd="/w", held="bubblewrap"))
    assert said == ""
    assert lines(trail.path) == [
        {
            "v": 1,
            "when": "2026-11-29T12:00:00+00:00",
            "tool": "bash",
            "subject": "rm 'a\nb'",
            "decision": "allow",
            "source": "user",
            "rule": "not-listed",
            "risk": "unsure",
            "agent": "main",
            "cwd": "/w",
            "held": "bubblewrap",
            "session": "s1",
        }
    ]
    assert stat.S_IMODE(trail.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(trail.path.parent.stat().st_mode) == 0o700
    trail.path.chmod(0o644)
    trail.append(record("x"))
    assert stat.S_IMODE(trail.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("raw", [b"touch \xff\xfe", b"touch \xc3\xa9", b"touch \xed\xa0\x80", b"\xf0\x9f"])
def test_the_exact_bytes_can_be_got_back(tmp_path: Path, raw: bytes) -> None:
    trail = AuditTrail(tmp_path / "audit.jsonl")
    trail.append(record(os.fsdecode(raw)))
    [row] = lines(trail.path)
    got = base64.b64decode(row["subject_base64"]) if "subject_base64" in row else row["subject"].encode()
    assert got == raw
    assert ("subject_base64" in row) is (raw.decode("utf-8", "ignore").encode() != raw)


def test_text_that_no_bytes_stand_for_and_very_long_text_are_written_too(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path / "audit.jsonl")
    assert trail.append(record("touch \ud800")) == ""
    assert trail.append(record("x" * (MAX_SUBJECT + 5))) == ""
    first, second = lines(trail.path)
    assert first["subject"] == "touch ?"
    assert second["bytes"] == MAX_SUBJECT + 5 and len(second["subject"]) == MAX_SUBJECT


def test_a_key_is_never_written(tmp_path: Path) -> None:
    key = 'sk-very/secret"key-é'
    trail = AuditTrail(tmp_path / "audit.jsonl", hidden=lambda: [key, ""])
    trail.append(record(f"curl -H 'Authorization: {key}' x", cwd=f"/w/{key}"))
    trail.append(record(os.fsdecode(b"\xff" + key.encode())))
    raw = trail.path.read_text()
    assert "very" not in raw and raw.count("[key]") == 3
    for row in lines(trail.path):
        assert b"very" not in base64.b64decode(row.get("subject_base64", ""))


def test_it_is_bounded_and_read_across_its_files(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path / "audit.jsonl", "s", limit=2000)
    for number in range(200):
        trail.append(record(f"command {number}"))
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["audit.jsonl", *(f"audit.jsonl.{number}" for number in range(1, KEPT + 1))]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < (KEPT + 1) * 2400
    rows, bad = read_audit(trail.path, 30)
    assert [row["subject"] for row in rows] == [f"command {number}" for number in range(170, 200)]
    assert bad == 0


def test_several_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    code = (
        "import sys; from pathlib import Path; from xun_policies.audit import AuditTrail\n"
        "from xun_policies.store import DecisionRecord\n"
        "trail = AuditTrail(Path(sys.argv[1]), sys.argv[2], limit=20000)\n"
        "for n in range(150): assert trail.append(DecisionRecord('', 'bash', f'c{n}', 'allow', 'user')) == ''\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), f"p{n}"]) for n in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    for name in ("p0", "p1", "p2"):
        rows, bad = read_audit(path, 1000, name)
        assert [row["subject"] for row in rows] == [f"c{n}" for n in range(150)]
        assert bad == 0


def test_damaged_lines_are_counted_and_a_missing_file_is_empty(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path / "audit.jsonl", "s1")
    assert read_audit(trail.path, 5) == ([], 0)
    trail.append(record("one"))
    with trail.path.open("ab") as file:
        file.write(b'{"subject": 3}\n\0\0\n[1]\n{"cut')
    rows, bad = read_audit(trail.path, 5)
    assert [row["subject"] for row in rows] == ["one"] and bad == 4
    assert read_audit(trail.path, 5, "s")[0] == rows and read_audit(trail.path, 5, "other")[0] == []


def test_trouble_is_said_once_and_again_after_it_went_away(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.write_text("a file in its place")
    trail = AuditTrail(folder / "audit.jsonl")
    said = trail.append(record("x"))
    assert str(trail.path) in said and "Work goes on" in said
    assert trail.append(record("x")) == ""
    folder.unlink()
    assert trail.append(record("y")) == "" and len(lines(trail.path)) == 1
    trail.path.unlink()
    trail.path.mkdir()
    assert trail.append(record("z")) != ""


def test_no_link_is_followed(tmp_path: Path) -> None:
    aim = tmp_path / "aim"
    aim.write_text("kept")
    (tmp_path / "audit.jsonl").symlink_to(aim)
    assert AuditTrail(tmp_path / "audit.jsonl").append(record("x")) != ""
    assert aim.read_text() == "kept"


def test_nobody_can_hold_it_up(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path / "audit.jsonl")
    trail.append(record("one"))
    with trail.path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert trail.append(record("two")) == ""
    assert [row["subject"] for row in lines(trail.path)] == ["one", "two"]
    os.mkfifo(tmp_path / "pipe")
    assert AuditTrail(tmp_path / "pipe").append(record("x")) != ""


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path; from xun_policies.audit import AuditTrail\n"
        "from xun_policies.store import DecisionRecord\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "trail = AuditTrail(Path(sys.argv[1]))\n"
        "said = [trail.append(DecisionRecord('', 'bash', 'x' * 300, 'allow', 'user')) for _ in range(6)]\n"
        "print([bool(text) for text in said])\n"
    )
    path = tmp_path / "audit.jsonl"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[False, False, True, False, False, False]"
    assert len(lines(path)) == 2 and path.read_bytes().endswith(b"\n")
