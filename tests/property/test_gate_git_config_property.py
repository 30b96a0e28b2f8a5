"""The reader of git's configuration against git itself, and against noise."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from xun_policies.gitprobe.config import ConfigFault, read
from xun_policies.gitprobe.index import IndexFault, submodules

PIECES = st.sampled_from(
    [
        "[core]",
        '[diff "x"]',
        "[a.B]",
        "[Core",
        "]",
        "pager",
        "fsmonitor",
        "=",
        " ",
        "\t",
        "\n",
        "\r\n",
        '"',
        "\\",
        "\\n",
        "\\\n",
        "#",
        ";",
        "x",
        "1",
        "-",
        "true",
        "[",
        "key = value\n",
        "; note\n",
        "\\t",
        "é",
        '[b "q\\"r"]\n',
        " \\\n ",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_what_is_read_is_what_git_reads(text: str) -> None:
    try:
        mine = [(setting.name, setting.value) for setting in read(text)]
    except ConfigFault:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config")
        file.write_bytes(text.encode())
        done = subprocess.run(["git", "config", "-z", "--file", str(file), "--list"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    items = [item.split("\n", 1) for item in done.stdout.decode().split("\0") if item]
    assert mine == [(item[0], item[1] if len(item) > 1 else None) for item in items]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_noise_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigFault):
        read(text)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_a_broken_index_is_read_or_refused(data: bytes, with_header: bool) -> None:
    header = b"DIRC\0\0\0\2\0\0\0\3\x00\x00\xe0\x00" if with_header else b""
    with contextlib.suppress(IndexFault):
        assert isinstance(submodules(header + data), list)
