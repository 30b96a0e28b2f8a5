"""What the model is told of a command that failed at the wall that held it in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xun.environment.confinement import OFFLINE

if TYPE_CHECKING:
    from xun.environment.confinement import Confinement

_NETWORK = re.compile(
    r"Network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|[Cc]ould ?n[o']t resolve|[Uu]nable to resolve"
    r"|[Nn]ame resolution|Name or service not known|nodename nor servname|No route to host|dns error"
    r"|[Cc]onnection refused|ECONNREFUSED|[Ff]ailed to (?:fetch|connect(?! to (?:the )?bus)|establish a new connection)"
    r"|connect(?:ion)?: (?:Permission denied|Cannot assign)|no such host"
)
_FILES = re.compile(
    r"[Rr]ead-only file ?system|EROFS|n(?:o|')t writable|Device or resource busy|EBUSY"
    r"|Operation not permitted|EPERM|\[Errno 1\]"
    r"|Permission denied \(publickey|Host key verification failed|could not read Username|No such process"
    r"|[Cc]annot connect to the Docker daemon|[Ff]ailed to connect to (?:the )?bus|not been booted with systemd"
    r"|[Ii]nvalid cross-device link|EXDEV|Too few namespaces|creating new namespace"
)
_DENIED = re.compile(r"[Pp]ermission denied|EACCES|PermissionError")
_SETUP = re.compile(r"\Abwrap: ")

_BACKGROUND = re.compile(r"(?<![&|<>\\])&(?![&>])\s*(?:$|[;)\n]|[^&\s])")
"""Good enough for a hint: a quoted one counts too."""

_HELD = {
    "bubblewrap": "outside the workspace and /tmp all is read-only, as are git's settings and hooks; keys, sockets and "
    "processes of the machine are not there",
    "landlock": "outside the workspace and $TMPDIR nothing can be written, and keys can't be read",
}
_WAY_OUT = 'Where that is the cause, sandbox="off" asks the person to run it without.'

_TAIL = 20_000


def ended(confinement: Confinement, command: str) -> str:
    """Return what to say of a *command* that meant to leave something running; "" where that works."""
    if not confinement.held or confinement.wall != "bubblewrap" or confinement.view == "machine":
        return ""
    if not _BACKGROUND.search(command) and not re.search(r"\b(?:nohup|setsid|disown)\b", command):
        return ""
    return (
        "What it started in the background ended with it, as always in the sandbox; bash_spawn keeps a command running."
    )


def note(confinement: Confinement, returncode: int | None, *outputs: str) -> str:
    """Return what to say of a command that ended with *returncode*; "" when the wall did not matter."""
    if not confinement.held or confinement.single or not returncode:
        return ""
    text = "\n".join(output[-_TAIL:] for output in outputs)
    if any(_SETUP.match(output) for output in outputs) and returncode == 1:
        return 'The sandbox could not be set up, so nothing ran; sandbox="off" asks the person to run it without.'
    denied = confinement.wall == "landlock" and _DENIED.search(text)
    if confinement.view in OFFLINE and (_NETWORK.search(text) or (denied and "connect" in text)):
        return (
            'The command ran in a sandbox without network; where that is the cause, sandbox="network" asks the person '
            "for it."
        )
    if confinement.view == "reading" and (_FILES.search(text) or denied):
        return (
            "The command ran with everything read-only, since the built-in list let it run; where that is the cause, "
            'sandbox="network" asks the person for the usual sandbox.'
        )
    if _FILES.search(text) or denied:
        return f"The command ran in a sandbox: {_HELD[confinement.wall]}. {_WAY_OUT}"
    return ""
