"""Which settings make a reading git command run a program, use the network or read elsewhere.

Sources: git-config(1) of git 2.39 to 2.47; the canary runs of the design notes (fsmonitor, external
diff, text conversion and filters all fired on ``git status`` or ``git diff``).
"""

from __future__ import annotations

import re

from xun_policies.gitprobe.config import Setting, is_boolean, is_false

_RUNNING_FORMAT = r"%[-+ ]?(?:G|\(describe)"
"""Placeholders that run gpg or git; a ``-``, ``+`` or blank behind the % only changes the line ends (git-log(1))."""

_LAST = frozenset(
    {
        "alternaterefscommand",
        "askpass",
        "clean",
        "cmd",
        "command",
        "defaultkeycommand",
        "difffilter",
        "driver",
        "editor",
        "external",
        "gitproxy",
        "helper",
        "hookspath",
        "partialclone",
        "process",
        "program",
        "receivepack",
        "smudge",
        "sshcommand",
        "textconv",
        "uploadpack",
        "vcs",
    }
)
_UNLESS_FALSE = frozenset({"log.showsignature", "status.submodulesummary", "submodule.recurse"})
_PATHS = frozenset(
    {
        "blame.ignorerevsfile",
        "core.attributesfile",
        "core.excludesfile",
        "core.worktree",
        "diff.orderfile",
        "mailmap.file",
    }
)


def loaded(setting: Setting) -> bool:
    """Tell whether *setting* alone makes a reading command run something."""
    section, key, value = setting.section, setting.key, setting.value
    name = f"{section}.{key}"
    if section == "alias" or (section == "protocol" and key == "allow"):
        return True
    if name == "core.fsmonitor" or section == "pager" or name == "core.pager":
        return not is_boolean(value) or (name == "core.pager" and value is not None)
    if key == "promisor" or name in _UNLESS_FALSE:
        return not is_false(value)
    if name == "log.diffmerges":
        return (value or "") in ("remerge", "r")
    if name == "diff.submodule":
        return (value or "").lower() != "short"
    if section == "pretty" or name == "format.pretty":
        return format_runs(value or "")
    if key == "sort" and section in ("branch", "tag"):
        return sort_runs(value or "")
    if section == "submodule" and key == "update":
        return (value or "").lstrip().startswith("!")
    return key in _LAST


def format_runs(text: str) -> bool:
    """Tell whether *text*, a format of ``git log``, makes git run another program."""
    return re.search(_RUNNING_FORMAT, text) is not None


def sort_runs(text: str) -> bool:
    """Tell whether *text*, a key or format of a list of references, makes git run another program."""
    return "signature" in text or "describe" in text


def path_value(setting: Setting) -> str | None:
    """Return the path that *setting* makes git read, or None when it is no such setting."""
    if f"{setting.section}.{setting.key}" in _PATHS:
        return setting.value or ""
    return None


def include_value(setting: Setting) -> str | None:
    """Return the file that *setting* includes; a condition is taken as fulfilled."""
    if setting.section in ("include", "includeif") and setting.key == "path":
        return setting.value or ""
    return None
