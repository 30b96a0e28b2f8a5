"""One HTTP exchange with a checked address: bounded in size, never following a redirect by itself."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xun.errors import ToolError
from xun_builtin_tools.web.addresses import is_own, is_public
from xun_builtin_tools.web.bounded import Line
from xun_builtin_tools.web.target import Target

MAX_BODY = 5 * 1024 * 1024
"""Bytes of a body that are read, counted after decompression and before it."""

CONNECT_SECONDS = 10.0
_CHUNK = 65536
_TRIES = 4

Connect = Callable[[str, int, float], socket.socket]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        status: The HTTP status.
        headers: By lower-case name; of several of one name the first.
        body: The decompressed body, at most `MAX_BODY` bytes.
        cut: There was more of it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False


def system_connect(address: str, port: int, seconds: float) -> socket.socket:
    """Return a connection to *address*, which is no name.

    Raises:
        OSError: There is none.
        ToolError: It is a public address of this very machine, behind which its own services listen.
    """
    sock = socket.create_connection((address, port), timeout=seconds)
    if is_own(sock) and is_public(ipaddress.ip_address(address)):
        sock.close()
        raise ToolError(f"{address} is an address of this machine, which is not fetched from.")
    return sock


class _Pinned(http.client.HTTPConnection):
    """A connection whose socket was made beforehand; it never makes another one."""

    def __init__(self, target: Target, sock: socket.socket) -> None:
        super().__init__(target.host, target.port)
        self.auto_open = 0
        self.sock = sock


@dataclass(frozen=True, slots=True)
class Transport:
    """Makes exchanges.

    Attributes:
        connect: Makes a connection to an address.
        tls: Makes the settings of TLS; the system's certificates when None.
    """

    connect: Connect = system_connect
    tls: Callable[[], ssl.SSLContext] | None = None

    def exchange(
        self,
        target: Target,
        addresses: list[str],
        headers: Mapping[str, str],
        line: Line,
        body: bytes | None = None,
    ) -> Reply:
        """Send a request to one of *addresses*: GET, or POST with *body*.

        Raises:
            ToolError: No connection, no trust in the certificate, or no HTTP.
        """
        connection = _Pinned(target, self._socket(target, addresses, line))
        try:
            with contextlib.closing(connection):
                method = "GET" if body is None else "POST"
                connection.putrequest(method, target.path, skip_host=True, skip_accept_encoding=True)
                sent = {"Host": target.place, "Accept-Encoding": "gzip, deflate", "Connection": "close", **headers}
                if body is not None:
                    sent["Content-Length"] = str(len(body))
                for name, value in sent.items():
                    connection.putheader(name, value)
                connection.endheaders(body)
                with connection.getresponse() as response:
                    return _read(response, target)
        except (http.client.HTTPException, OSError, ValueError) as exc:
            reason = str(exc) or type(exc).__name__
            raise ToolError(f"The answer of {target.place} broke off or is no HTTP: {reason}.") from exc

    def _socket(self, target: Target, addresses: list[str], line: Line) -> socket.socket:
        failure: OSError | None = None
        for address in addresses[:_TRIES]:
            try:
                sock = self.connect(address, target.port, CONNECT_SECONDS)
            except OSError as exc:
                failure = exc
                continue
            # From here on the time limit of the call counts, which cuts the line.
            sock.settimeout(None)
            line.use(sock)
            return self._secured(target, sock, line) if target.scheme == "https" else sock
        raise ToolError(
            f"No connection to {target.place}: {failure}. Connections are made directly; proxies are not used."
        ) from failure

    def _secured(self, target: Target, sock: socket.socket, line: Line) -> socket.socket:
        context = ssl.create_default_context() if self.tls is None else self.tls()
        try:
            wrapped = context.wrap_socket(sock, server_hostname=target.host)
        except ssl.SSLCertVerificationError as exc:
            sock.close()
            raise ToolError(f"The certificate of {target.place} is not valid: {exc.verify_message}.") from exc
        except (OSError, ValueError) as exc:
            sock.close()
            raise ToolError(f"No secure connection to {target.place}: {exc}.") from exc
        line.use(wrapped)
        return wrapped


def _read(response: http.client.HTTPResponse, target: Target) -> Reply:
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        headers.setdefault(name.lower(), value)
    unpack = _Unpacker(headers.get("content-encoding", ""), target)
    received = 0
    while not unpack.full and received < MAX_BODY:
        data = response.read1(min(_CHUNK, MAX_BODY - received))
        if not data:
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            return Reply(response.status, headers, unpack.body(), unpack.full)
        received += len(data)
        unpack.feed(data)
    more = unpack.full or bool(response.read1(1))
    return Reply(response.status, headers, unpack.body(), more)


class _Unpacker:
    """Decompresses up to the limit, and no further."""

    def __init__(self, coding: str, target: Target) -> None:
        self._coding = coding.strip().lower()
        self._target = target
        self._parts: list[bytes] = []
        self._size = 0
        self._first = True
        self.full = False
        if self._coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(f"{target.place} sends the content encoding {coding[:40]!r}, which was not asked for.")
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16 if "gzip" in self._coding else zlib.MAX_WBITS)

    def feed(self, data: bytes) -> None:
        """Take in a piece of the body.

        Raises:
            ToolError: It is damaged.
        """
        if self._coding in ("", "identity"):
            self._add(data)
            return
        if self._coding == "deflate" and self._first and data[0] & 15 != 8:
            # Some servers leave out the header of the format.
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._first = False
        try:
            while data and not self.full and not self._inflate.eof:
                self._add(self._inflate.decompress(data, MAX_BODY - self._size + 1))
                data = self._inflate.unconsumed_tail
        except zlib.error as exc:
            raise ToolError(f"The compressed answer of {self._target.place} is damaged: {exc}.") from exc

    def _add(self, data: bytes) -> None:
        room = MAX_BODY - self._size
        self._parts.append(data[:room])
        self._size += min(room, len(data))
        self.full = len(data) > room

    def body(self) -> bytes:
        """Return what was unpacked."""
        return b"".join(self._parts)
