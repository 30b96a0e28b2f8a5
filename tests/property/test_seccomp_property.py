"""The filter for system calls does what its docstring says, for any call: read by an interpreter of its own."""

from __future__ import annotations

import errno
import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xun.environment import seccomp

pytestmark = pytest.mark.skipif(not seccomp.supported(), reason="no filter for this processor")

ARCH, SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}.get(os.uname().machine, (0, 0))
ALLOW, REFUSE, UNKNOWN = 0x7FFF0000, 0x50000 | errno.EACCES, 0x50000 | errno.ENOSYS
STREAM, NONBLOCK, CLOEXEC = 1, 0o4000, 0o2000000


def verdict(code: bytes, arch: int, number: int, arguments: tuple[int, int, int]) -> int:
    """Run classic BPF, of which the filter uses five instructions, on one seccomp_data."""
    data = struct.pack("=IIQQQQ", number, arch, 0, *arguments)
    lines = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    at = value = 0
    while True:
        operation, if_true, if_false, operand = lines[at]
        at += 1
        if operation == 0x06:
            return int(operand)
        if operation == 0x20:
            value = struct.unpack_from("=I", data, operand)[0]
        elif operation == 0x54:
            value &= operand
        elif operation == 0x15:
            at += if_true if value == operand else if_false
        elif operation == 0x35:
            at += if_true if value >= operand else if_false
        else:
            raise AssertionError(f"an instruction that the filter does not use: {operation:#x}")


def expected(arch: int, number: int, arguments: tuple[int, int, int], tcp: bool) -> int:
    family, kind, protocol = (argument & 0xFFFFFFFF for argument in arguments)
    if arch != ARCH or number >= 0x40000000:
        return REFUSE
    if number == 425:
        return UNKNOWN
    if number != SOCKET or family in (1, 16):
        return ALLOW
    is_tcp = family in (2, 10) and kind & 0xF == STREAM and protocol in (0, 6)
    return ALLOW if tcp and is_tcp else REFUSE


FAMILIES = st.sampled_from([0, 1, 2, 3, 10, 16, 17, 38, 40]) | st.integers(0, 2**32 - 1)
KINDS = st.tuples(st.integers(0, 15), st.sampled_from([0, NONBLOCK, CLOEXEC, NONBLOCK | CLOEXEC])).map(sum)
PROTOCOLS = st.sampled_from([0, 1, 6, 17, 132, 255, 262]) | st.integers(0, 2**32 - 1)


@given(
    arch=st.sampled_from([ARCH, ARCH, ARCH, 0x40000003, 0]),
    number=st.sampled_from([SOCKET, SOCKET, 0, 1, 41, 198, 425, 0x40000000 + SOCKET]) | st.integers(0, 2**32 - 1),
    arguments=st.tuples(FAMILIES, KINDS, PROTOCOLS),
    tcp=st.booleans(),
)
def test_only_local_sockets_and_tcp_pass(arch: int, number: int, arguments: tuple[int, int, int], tcp: bool) -> None:
    code = seccomp.program(tcp=tcp)
    assert verdict(code, arch, number, arguments) == expected(arch, number, arguments, tcp)
