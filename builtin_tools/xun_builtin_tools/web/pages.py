"""Fetching one page: each hop asked about, resolved, checked and connected to by its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun_builtin_tools.web import permission
from xun_builtin_tools.web.addresses import Resolve, addresses, refuse_local, system_addresses
from xun_builtin_tools.web.bounded import Line, TimeLeft, run_within
from xun_builtin_tools.web.target import Target, parse
from xun_builtin_tools.web.transport import Reply, Transport
from xun_policies.wordset import wordset

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext

MAX_HOPS = 5
"""Redirects that are followed."""

MAX_HEADERS = 20
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OWN = wordset(
    "host connection content-length transfer-encoding accept-encoding te trailer upgrade expect keep-alive "
    "cookie cookie2 forwarded via proxy-authorization proxy-connection"
)
_PLAIN = wordset("accept accept-language user-agent referer cache-control")
_NAME = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How the web is reached; tests give a network of their own.

    Attributes:
        resolve: Returns the addresses of a host.
        transport: Makes the exchanges.
    """

    resolve: Resolve = system_addresses
    transport: Transport = field(default_factory=Transport)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came back in the end, and from where."""

    target: Target
    reply: Reply


def fetch(
    ctx: ToolCallContext[Any], url: str, headers: Mapping[str, str], timeout: float, options: WebOptions
) -> Fetched:
    """Return the answer of *url*, after at most `MAX_HOPS` redirects.

    Raises:
        ToolError: It is not fetched, or can't be; the text says why.
        Denied: The person refused.
    """
    own = checked_headers(headers)
    target = parse(url)
    time_left = TimeLeft(timeout)
    start = target.place
    for _ in range(MAX_HOPS + 1):
        # What the model adds is for the host that it named.
        sent = own if target.place == start else {}
        allow(ctx, target, sent)
        reply = exchange(ctx, target, sent, time_left, options, allow_private=ctx.agent.config.allow_private_urls)
        location = reply.headers.get("location", "")
        if reply.status not in _REDIRECTS or not location:
            return Fetched(target, reply)
        target = target.follow(location)
    raise ToolError(f"{start} redirects more than {MAX_HOPS} times; the last one leads to {target.url[:200]}.")


def allow(ctx: ToolCallContext[Any], target: Target, headers: Mapping[str, str]) -> None:
    """Return when *target* may be asked for.

    Raises:
        ToolError: It is a local host.
        Denied: The person refused.
    """
    if not ctx.agent.config.allow_private_urls:
        refuse_local(target.host)
    unusual = sorted(name for name in headers if name.lower() not in _PLAIN)
    permission.require(ctx, target, f"sends the headers {', '.join(unusual)}" if unusual else "")


def exchange(
    ctx: ToolCallContext[Any],
    target: Target,
    headers: Mapping[str, str],
    time_left: TimeLeft,
    options: WebOptions,
    *,
    allow_private: bool,
    body: bytes | None = None,
) -> Reply:
    """Resolve, check and connect, all within the time; raises as `fetch`."""
    line = Line()

    def work() -> Reply:
        found = addresses(target.host, target.port, options.resolve, allow_private=allow_private)
        return options.transport.exchange(target, found, {**_usual(), **headers}, line, body)

    check: Callable[[], None] = ctx.check_cancel
    return run_within(time_left, line, check, work)


def _usual() -> dict[str, str]:
    return {"User-Agent": "xun", "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5"}


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return *headers* when they can be sent, in the spelling of the usual ones.

    Raises:
        ToolError: One can't be.
    """
    if len(headers) > MAX_HEADERS:
        raise ToolError(f"{len(headers)} headers are too many; {MAX_HEADERS} is the limit.")
    usual = {name.lower(): name for name in _usual()}
    for name, value in headers.items():
        if not name or not set(name) <= _NAME:
            raise ToolError(f"{name[:80]!r} is no name of a header.")
        if name.lower() in _OWN or name.lower().startswith(("proxy-", "sec-", "x-forwarded-")):
            raise ToolError(f"The header {name} can't be set; leave it out.")
        if len(value) > 4000 or not all(" " <= char <= "\xff" and char != "\x7f" for char in value):
            raise ToolError(f"The value of the header {name} is too long or holds a character that can't be sent.")
    return {usual.get(name.lower(), name): value for name, value in headers.items()}
