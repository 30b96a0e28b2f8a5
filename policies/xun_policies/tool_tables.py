"""The TOML files of mise and proto: the versions they name, and what else in them could make a shim run something.

Sources: mise's reference of mise.toml (env directives, templates, hooks, which a trusted file keeps after an edit) and
proto's of .prototools. What is not known to be inert speaks against the file.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INERT = frozenset({"tools", "env", "tasks", "task_config", "min_version", "redactions"})
"""Tables that say nothing of versions or programs; an alias does: it makes another version, or tool, of a name."""
_TOOL_KEYS = frozenset({"version", "os"})
_TEMPLATE = r"\{\{|\{%"
_READ = (
    r"(?i)(?:PATH|HOME|SHELL|ENV|IFS|PS4|PERL5?.*|RUBY.*|LD_.*|DYLD_.*|BASH.*|SHELLOPTS|PYTHON.*|NODE_(?!ENV$).*|NPM_.*|GIT_.*|RIPGREP_.*|"
    r"GREP_.*|JQ_.*|FD_.*|PIP.*|PYTEST.*|CARGO.*|RUST.*|GO[A-Z]*|GCC.*|CC|COMPILER_PATH|MAKE.*|DOCKER_.*|CURL.*|XDG_.*|TMP.*|TEMP|LESS.*|"
    r".*PAGER|.*EDITOR|.*_PROXY|GCONV_PATH|LOCPATH|GLIBC_.*|MALLOC_.*|OPENSSL_.*|SSL.*|VIRTUAL_ENV|UV_.*|COREPACK_.*|VOLTA_.*|MISE_.*|"
    r"ASDF_.*|PROTO_.*|PYENV_.*|MAGIC|POSIXLY_CORRECT|TZDIR|TREE_.*)"
)
"""Variables that a listed program or a manager reads; all other names are the project's own."""

Versions = list[tuple[str, str]]


def versions(name: str, text: str) -> Versions | None:
    """Return tool and version of each entry of *text*, the content of the file *name*; None when it may do more."""
    import tomllib

    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    if re.search(_TEMPLATE, text):
        return None  # a template can run a command, in a version as well as in a variable
    if name == ".prototools":
        return _of_proto(data)
    if not data.keys() <= _INERT or not _plain_variables(data.get("env", {})):
        return None
    return _listed(data.get("tools", {}))


def _of_proto(data: Mapping[str, object]) -> Versions | None:
    if not all(isinstance(value, str) for value in data.values()):
        return None  # plugins, settings, variables
    return [(tool, str(version)) for tool, version in data.items()]


def _plain_variables(variables: object) -> bool:
    if not isinstance(variables, dict):
        return False
    # Keys that begin with a line are directives: files to load, folders for PATH, scripts to source.
    return all(
        not name.startswith("_") and not re.fullmatch(_READ, name) and isinstance(value, str | int | float | bool)
        for name, value in variables.items()
    )


def _listed(tools: object) -> Versions | None:
    if not isinstance(tools, dict):
        return None
    found: Versions = []
    for tool, value in tools.items():
        for version in _each(value):
            if version is None:
                return None
            found.append((tool, version))
    return found


def _each(value: object) -> Iterator[str | None]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            version = one.get("version")
            yield version if isinstance(version, str) and one.keys() <= _TOOL_KEYS else None
        else:
            yield str(one) if isinstance(one, str | int | float) else None
