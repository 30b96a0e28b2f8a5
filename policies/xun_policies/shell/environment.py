"""The environment of the executed bash: an allowlist of names, secrets dropped, helpers made harmless."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xun_policies.wordset import wordset

_KEPT = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "SHELL", "COLUMNS", "LINES"}
)
_KEPT_PREFIX = "LC_"
_SECRET_NAME = re.compile(r"KEY|SECRET|TOKEN|PASS|CRED|AUTH", re.I)
_SECRET_VALUE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*:[^/\s@]+@")
_NEVER = re.compile(
    r"BASH_.*|ENV|SHELLOPTS|BASHOPTS|IFS|CDPATH|GLOBIGNORE|PS4|PROMPT_COMMAND|POSIXLY_CORRECT|LD_.*|DYLD_.*|PYTHON.*|GIT_.*|NODE_OPTIONS|"
    r"LESSOPEN|LESSCLOSE|RIPGREP_CONFIG_PATH|GREP_OPTIONS|PERL5.*|PERLLIB|RUBYOPT|RUBYLIB|JQ_.*|PYTEST_.*|PIP_.*|npm_config_.*|FD_.*|TREE_.*"
)

INERT_VARIABLES = wordset(
    "CI NO_COLOR FORCE_COLOR TZ LANG LC_ALL PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED"
)
"""Variables that may be set for one command: they change how it prints, never what it runs or reads."""

_INERT_VALUE = r"[A-Za-z0-9_.,@+-]*"
_ZONE = r"(?:[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*)?"
_LOCALE = r"(?:C|POSIX|(?!zh|ja|ko)[A-Za-z]{2,3}(?:_[A-Za-z]{2})?|(?:C|[A-Za-z]{2,3}(?:_[A-Za-z]{2})?)\.(?i:UTF-?8))?"
"""Without a character set the system chooses one: that of zh_TW is Big5, in which the ``\\`` of a script may be the
second half of a letter, so that sed ends a part of it elsewhere."""

_FIXED: Mapping[str, str] = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "MANPAGER": "cat",
    "LESSSECURE": "1",
    "GIT_EDITOR": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "safe.bareRepository",
    "GIT_CONFIG_VALUE_1": "explicit",
}


def is_inert(name: str, value: str) -> bool:
    """Tell whether setting *name* to *value* for one command changes only how it prints."""
    if name not in INERT_VARIABLES or (name == "LC_ALL" and not value):
        return False  # emptied, it lets a LANG count that was kept out of the way
    pattern = _ZONE if name == "TZ" else _LOCALE if name in ("LANG", "LC_ALL") else _INERT_VALUE
    return re.fullmatch(pattern, value) is not None


def child_environment(
    base: Mapping[str, str], extra: Mapping[str, str] | None = None, keep: Sequence[str] = ()
) -> dict[str, str]:
    """Return the environment for a command: a few names of *base*, then fixed names, then *extra*.

    Args:
        base: The environment of this process.
        extra: Names that the caller of the tool set for this command; they were shown to whoever approved it.
        keep: Further names of *base* that the user's configuration keeps. A name that changes how
            bash or a listed command works (``BASH_ENV``, ``LD_PRELOAD``, ``GIT_*`` ...) is kept only when
            named here in full.

    A kept name that looks like a secret, or whose value holds ``user:password@``, is dropped all the
    same unless *keep* names it.
    """
    wanted = frozenset(keep)
    result: dict[str, str] = {}
    for name, value in base.items():
        if name in wanted:
            result[name] = value
            continue
        if name not in _KEPT and not name.startswith(_KEPT_PREFIX):
            continue
        if _NEVER.fullmatch(name) or _SECRET_NAME.search(name) or _SECRET_VALUE.search(value):
            continue
        result[name] = value
    for name, value in _FIXED.items():
        if name not in wanted or name not in base:
            result[name] = value
    result.update(extra or {})
    if not _plain_charset(result):
        result["LC_ALL"] = "C.UTF-8"
    return result


def _plain_charset(environment: Mapping[str, str]) -> bool:
    """Tell whether bash will read the text byte by byte as it was checked.

    In a character set such as SJIS a byte of a UTF-8 character can swallow the quote that follows it.
    """
    effective = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    charset = effective.partition(".")[2].partition("@")[0].lower().replace("-", "")
    return charset == "utf8" or (not charset and effective in ("C", "POSIX"))
