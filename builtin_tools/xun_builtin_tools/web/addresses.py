"""Which hosts and addresses may be reached: public ones.

A name is resolved once; every address that it has is checked, and the connection goes to a checked
address and not to the name, so that a second answer of the name server changes nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable

from xun.errors import ToolError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]

MAX_ADDRESSES = 16
"""Addresses of one name that are looked at."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.ip_network("::/96")
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")
_SHARED = ipaddress.ip_network("100.64.0.0/10")
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # the host of an Azure machine, with its metadata
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata
        "192.88.99.0/24",  # the relay of 6to4
        "3fff::/20",  # documentation
    )
)
_ISATAP = (0x00005EFE, 0x02005EFE)
_LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa")
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.I)


def is_public(address: Address) -> bool:
    """Tell whether *address* is one of the public internet; an IPv4 address inside an IPv6 one counts as itself."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64 or address in _COMPATIBLE or address in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if int(address) >> 32 & 0xFFFFFFFF in _ISATAP and not is_public(
            ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        ):
            return False
        if inner is not None:
            return is_public(inner)
        if address in _LOCAL_NAT64 or address.teredo is not None or address.is_site_local:
            return False
    elif address in _SHARED:
        return False
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def is_own(sock: socket.socket) -> bool:
    """Tell whether a connected *sock* leads back to this machine, as its own public address does."""
    try:
        return bool(sock.getpeername()[0] == sock.getsockname()[0])
    except OSError:
        return False


def literal(host: str) -> Address | None:
    """Return the address that *host* spells, in any form that a resolver takes (``127.1``, ``0x7f.1``); else None."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not _NUMERIC.fullmatch(host.rsplit(".", 1)[-1]):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def refuse_local(host: str) -> None:
    """Return when *host* does not say by itself that it is a local one.

    Raises:
        ToolError: It does.
    """
    name = host.rstrip(".").lower()
    address = literal(name)
    local = any(name == word or name.endswith(f".{word}") for word in _LOCAL_NAMES)
    if local or (address is not None and not is_public(address)):
        raise ToolError(_local(host, "" if address is None or str(address) == host else str(address)))


def addresses(host: str, port: int, resolve: Resolve, *, allow_private: bool) -> list[str]:
    """Return the addresses of *host*, all of them checked.

    Raises:
        ToolError: There is none, or one of them is local, private or reserved.
    """
    found = list(dict.fromkeys(resolve(host, port)))[:MAX_ADDRESSES]
    if not found:
        raise ToolError(f"The host {host} has no address.")
    for text in found:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise ToolError(f"The host {host} has the address {text!r}, which can't be checked.") from None
        if not allow_private and not is_public(address):
            raise ToolError(_local(host, text))
    return found


def system_addresses(host: str, port: int) -> list[str]:
    """Return the addresses of *host* as the system's resolver knows them.

    Raises:
        ToolError: It knows none.
    """
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise ToolError(f"The host {host} can't be found: {reason}.") from None
    return [str(row[4][0]) for row in rows]


def _local(host: str, address: str) -> str:
    shown = f"{host} ({address})" if address and address != host else host
    return (
        f"{shown} is a local address: loopback, private and reserved addresses are not fetched, unless "
        "AgentConfig(allow_private_urls=True) allows it."
    )
