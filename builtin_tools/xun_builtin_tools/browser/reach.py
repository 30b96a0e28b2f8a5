"""Where the pages of one browser may go: the same addresses as `web_fetch`, and no hosts that code picks."""

from __future__ import annotations

import ipaddress
import socket
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from xun.errors import ToolError
from xun.tools.running import in_thread
from xun_builtin_tools.web import permission
from xun_builtin_tools.web.addresses import Resolve, addresses, is_own, is_public, refuse_local, system_addresses
from xun_builtin_tools.web.target import Target, parse

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext

_KEPT = 200

# Chromium asks these for itself, whatever its flags say; a page that uses one of them is served.
_OWN = frozenset(
    {
        "accounts.google.com",
        "android.clients.google.com",
        "clients2.google.com",
        "content-autofill.googleapis.com",
        "mtalk.google.com",
        "optimizationguide-pa.googleapis.com",
        "redirector.gvt1.com",
        "safebrowsing.googleapis.com",
        "update.googleapis.com",
    }
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was not made.

    Attributes:
        url: Where it would have gone.
        reason: A sentence.
    """

    url: str
    reason: str


class NotForPages(ToolError):
    """A request that Chromium makes for itself; it is refused without a word."""


class Reach:
    """What the requests of one browser are measured by.

    A page loads what it needs from any public host, as in every browser; where it goes as a whole is asked about.
    While `strict`, which is as long as code of the model may run in a page, only hosts that the person allowed and
    hosts that pages used before are reached: code could send anything anywhere.

    Attributes:
        strict: See above.
        refused: The last requests that were not made.
        count: How many those were in all.
    """

    def __init__(self, resolve: Resolve = system_addresses) -> None:
        self.strict = False
        self.refused: deque[Refusal] = deque(maxlen=_KEPT)
        self.count = 0
        self._resolve = resolve
        self._allowed: frozenset[str] = frozenset()
        self._approved: set[str] = set()
        self._seen: set[str] = set()
        self._allow_private = False

    def refresh(self, ctx: ToolCallContext[Any]) -> None:
        """Take over what the agent is allowed now."""
        self._allowed = frozenset(permission.allowed_hosts(ctx))
        self._allow_private = ctx.agent.config.allow_private_urls

    def may_open(self, target: Target) -> bool:
        """Tell whether a page may go to *target* without a question."""
        return target.place in self._allowed or target.place in self._approved

    def require(self, ctx: ToolCallContext[Any], target: Target) -> None:
        """Return when a page may be loaded from *target*; asks as for `web_fetch`.

        Raises:
            ToolError: It is a local host.
            Denied: The person refused.
        """
        self.refresh(ctx)
        if not self._allow_private:
            refuse_local(target.host)
        permission.require(ctx, target)
        # Allowed this time only is as long as that browser: a page is of no use that can't go on within its host.
        self._approved.add(target.place)

    async def resolved(self, target: Target, *, asked_by_page: bool = False) -> list[str]:
        """Return the checked addresses of *target*.

        Raises:
            NotForPages: Chromium wants it for itself.
            ToolError: It may not be reached now, or is local.
        """
        known = self.may_open(target) or target.place in self._seen
        if target.host in _OWN and not (known or asked_by_page):
            raise NotForPages(f"{target.place} is not reached: no page asked for it by itself.")
        if self.strict and not known:
            raise ToolError(
                f"{target.place} is not reached: while a page is open in which browser_evaluate ran, or a local file, "
                "only hosts that were used before or allowed are. Close that page or load it anew, or let "
                "browser_page(action='navigate') ask for the host."
            )
        private = self._allow_private
        if not private:
            refuse_local(target.host)
        return await in_thread(lambda: addresses(target.host, target.port, self._resolve, allow_private=private))

    async def admit(self, target: Target) -> None:
        """Check the request of a page to *target*, and remember the host; raises as `resolved`."""
        await self.resolved(target, asked_by_page=True)
        self._seen.add(target.place)

    def is_closed_to(self, sock: socket.socket, address: str) -> bool:
        """Tell whether a connection leads to this machine by its public *address*, past the check of that."""
        return not self._allow_private and is_own(sock) and is_public(ipaddress.ip_address(address))

    def refuse(self, url: str, reason: str) -> None:
        """Note a request that was not made."""
        self.refused.append(Refusal(url[:300], reason))
        self.count += 1

    def since(self, count: int) -> list[Refusal]:
        """Return what was refused after the first *count*."""
        fresh = min(self.count - count, len(self.refused))
        return list(self.refused)[len(self.refused) - fresh :] if fresh > 0 else []


def place_of(url: str) -> Target:
    """Return the host of *url*, of whatever length its path is; raises as `parse`."""
    parts = urlsplit(url)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    return parse(f"{scheme}://{parts.netloc}/")
