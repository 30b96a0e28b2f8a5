"""A URL taken apart and checked: http or https, a host, nothing hidden in it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from xun.errors import ToolError
from xun_builtin_tools.web.addresses import literal

MAX_URL = 8000
"""Characters of a URL."""

_PORTS = {"http": 80, "https": 443}
_SAFE = "%/:=&?~#+!$,;'@()*[]-._|"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes.

    Attributes:
        scheme: http or https.
        host: The name in ASCII, or the address without brackets.
        port: The port.
        path: Path and query, as they are sent.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def place(self) -> str:
        """The host, with its port where that is not the usual one; what a permission is for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.scheme}://{self.place}{self.path}"

    def follow(self, location: str) -> Target:
        """Return where a redirect from here leads.

        Raises:
            ToolError: To something that is not fetched.
        """
        try:
            # Headers are read as Latin-1; what servers write is UTF-8, and sometimes a space.
            joined = urljoin(self.url, location.encode("latin-1", "replace").decode("utf-8", "replace").strip())
            joined = joined.replace(" ", "%20")
        except ValueError:
            raise ToolError(f"{self.place} redirects to {location[:200]!r}, which is no URL.") from None
        target = parse(joined)
        if self.scheme == "https" and target.scheme == "http":
            raise ToolError(
                f"{self.place} redirects to {target.url[:200]}, which is not encrypted; fetch that URL itself if you "
                "want it."
            )
        return target


def parse(url: str) -> Target:
    """Return *url* as a target; its fragment is dropped.

    Raises:
        ToolError: Not http or https, no host, a name or password in it, or characters that no URL has.
    """
    shown = repr(url[:200])
    if len(url) > MAX_URL:
        raise ToolError(f"The URL has {len(url):,} characters; {MAX_URL:,} is the limit.")
    if any(char <= " " or char in "\x7f\\" for char in url):
        raise ToolError(f"The URL {shown} holds a space, a backslash or a control character; percent-encode it.")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname or ""
    except ValueError as exc:
        raise ToolError(f"{shown} is no URL: {exc}.") from None
    if parts.scheme not in _PORTS:
        raise ToolError(f"{shown} is not fetched: only URLs that begin with http:// or https:// are.")
    if "@" in parts.netloc:
        raise ToolError(f"The URL with the host {host} holds a user name or password; leave it out.")
    if not host or port == 0:
        raise ToolError(f"{shown} names no host to fetch from.")
    try:
        path = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    except UnicodeError:
        raise ToolError(f"The URL {shown} holds a character that can't be sent; percent-encode it.") from None
    return Target(parts.scheme, _ascii_host(host, shown), port or _PORTS[parts.scheme], path)


def _ascii_host(host: str, shown: str) -> str:
    address = literal(host)
    if address is not None:
        return str(address)
    try:
        name = host.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        raise ToolError(f"The host of {shown} is no name that can be looked up.") from None
    if not name or not all(char.isalnum() or char in "-._" for char in name):
        raise ToolError(f"The host of {shown} is no name that can be looked up.")
    # The name may spell an address only once it is ASCII: digits of other scripts.
    address = literal(name)
    return name if address is None else str(address)
