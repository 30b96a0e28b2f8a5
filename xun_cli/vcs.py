"""What git knows about a folder, found without running anything that a repository chose.

Branch and root are read from files, by GitPython where that is safe. Status, diff and file list come
from the git program, but in a private git folder: HEAD and index are copied, objects and refs are
linked, and the configuration holds only a few keys of harmless values. So fsmonitor, filters, textconv,
external diffs, hooks, pagers, aliases, includes and helpers of the repository's configuration are never
seen by the process that runs.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from xun_cli._git_process import GitFailed, run_git

TIMEOUT = 5.0
"""Seconds that one question to git may take."""

DIFF_LIMIT = 4_000_000
"""Bytes of a diff that are kept."""

_LISTING_LIMIT = 64_000_000
_INDEX_LIMIT = 256_000_000

_BOOL = frozenset({"true", "false", "yes", "no", "on", "off", "0", "1", ""})
_SAFE_KEYS: Mapping[str, frozenset[str]] = {
    "core.repositoryformatversion": frozenset({"0", "1"}),
    "core.filemode": _BOOL,
    "core.symlinks": _BOOL,
    "core.ignorecase": _BOOL,
    "core.precomposeunicode": _BOOL,
    "core.sparsecheckout": _BOOL,
    "core.sparsecheckoutcone": _BOOL,
    "core.autocrlf": _BOOL | {"input"},
    "core.eol": frozenset({"lf", "crlf", "native"}),
    "extensions.objectformat": frozenset({"sha1", "sha256"}),
    "extensions.refstorage": frozenset({"files", "reftable"}),
    "index.sparse": _BOOL,
}
"""Configuration that changes what git sees but can't name a program; all else of a repository is dropped."""

_LINKED = ("objects", "refs", "packed-refs", "reftable", "shallow")
_COPIED = ("info/exclude", "info/attributes", "info/sparse-checkout")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF_PREFIX = "refs/heads/"


@dataclass(frozen=True, slots=True)
class GitStatus:
    """The state of a work tree.

    Attributes:
        branch: The branch, ``detached at <id>``, or "" when there is no repository.
        changed: ``(code, path)`` of tracked files that differ from HEAD; the code is git's two letters.
        untracked: Paths that git does not know; a whole folder ends with a slash.
        problem: Why the state is unknown, "" when it is known.
    """

    branch: str = ""
    changed: tuple[tuple[str, str], ...] = ()
    untracked: tuple[str, ...] = ()
    problem: str = ""

    @property
    def dirty(self) -> bool | None:
        """Whether anything differs; None when that is unknown."""
        return None if self.problem or not self.branch else bool(self.changed or self.untracked)

    @property
    def label(self) -> str:
        """The branch for a status line: ``main``, ``main*`` when dirty, ``main?`` when unknown."""
        if not self.branch:
            return ""
        return self.branch + {True: "*", False: "", None: "?"}[self.dirty]


@dataclass(frozen=True, slots=True)
class GitDiff:
    """A diff of the work tree against HEAD.

    Attributes:
        text: Unified diff with git's headers.
        untracked: Paths that git does not know and the diff does not show.
        cut: The diff was longer than `DIFF_LIMIT`.
        problem: Why there is no diff, "" when there is one.
    """

    text: str = ""
    untracked: tuple[str, ...] = ()
    cut: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Repository:
    root: Path
    git_dir: Path
    common_dir: Path


def find_root(folder: Path) -> Path | None:
    """Return the nearest folder upwards from *folder* that holds ``.git``, or None."""
    real = Path(os.path.realpath(folder))
    for candidate in (real, *real.parents):
        if _git_dir(candidate) is not None:
            return candidate
    return None


def read_branch(folder: Path) -> str:
    """Return the branch of the repository around *folder*, or ``detached at <id>``, or ""; starts no process."""
    root = find_root(folder)
    git_dir = _git_dir(root) if root is not None else None
    return _branch(git_dir) if git_dir is not None else ""


def branch(folder: Path) -> str:
    """Return what `read_branch` does, by GitPython where it is safe to ask; for a background thread.

    GitPython knows what git holds to be a repository; it is slow to load, so that what is needed at once is read by us.
    """
    repository = _open(folder)
    return "" if repository is None else _branch_of(repository)


def status(folder: Path, *, timeout: float = TIMEOUT) -> GitStatus:
    """Return the state of the repository around *folder*; blocks up to *timeout* seconds.

    Nothing is raised: a missing git, a broken repository and a slow one come back as ``problem``.
    """
    repository = _open(folder)
    if repository is None:
        return GitStatus(problem="not a git repository")
    branch = _branch_of(repository)
    arguments = (
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        "--no-renames",
    )
    try:
        output = _ask(repository, arguments, timeout, _LISTING_LIMIT).output
    except GitFailed as exc:
        return GitStatus(branch, problem=str(exc))
    changed, untracked = _parse_status(output)
    return GitStatus(branch, changed, untracked)


def diff(folder: Path, path: str | Path | None = None) -> GitDiff:
    """Return what differs from HEAD, in the whole repository or in *path*; blocks up to `TIMEOUT` seconds."""
    repository = _open(folder)
    if repository is None:
        return GitDiff(problem=f"{folder} is not in a git repository.")
    where: tuple[str, ...] = ()
    if path is not None:
        full = Path(os.path.normpath(folder / path))
        real = Path(os.path.realpath(full.parent)) / full.name
        if real != repository.root and repository.root not in real.parents:
            return GitDiff(problem=f"{full} is not in the repository {repository.root}.")
        where = (str(real.relative_to(repository.root)),)
    flags = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames")
    against = "HEAD" if _has_commit(repository) else "--cached"
    names = ("ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "--", *where)
    try:
        answer = _ask(repository, ("diff", *flags, against, "--", *where), TIMEOUT, DIFF_LIMIT)
        others = _ask(repository, names, TIMEOUT, _LISTING_LIMIT)
    except GitFailed as exc:
        return GitDiff(problem=f"git can't tell: {exc}.")
    return GitDiff(answer.output.decode("utf-8", "replace"), tuple(_names(others.output)), answer.cut)


def list_files(folder: Path, *, timeout: float = TIMEOUT) -> list[str] | None:
    """Return tracked and untracked files below *folder*, relative to it, by git's ignore rules.

    None when *folder* is in no repository, or git can't tell in time. Names that are not UTF-8 hold
    surrogates, as in `os.fsdecode`.
    """
    repository = _open(folder)
    if repository is None:
        return None
    below = Path(os.path.realpath(folder)).relative_to(repository.root)
    arguments = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", str(below))
    try:
        output = _ask(repository, arguments, timeout, _LISTING_LIMIT).output
    except GitFailed:
        return None
    names = _names(output)
    if below == Path("."):
        return names
    prefix = f"{below}/"
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


def _git_dir(root: Path) -> Path | None:
    entry = root / ".git"
    # By os.path, which takes what may not be looked at for what is not there.
    if os.path.isdir(entry):
        return entry if os.path.exists(entry / "HEAD") else None
    head = _small(entry)
    if not head.startswith("gitdir: ") or "\0" in head:
        return None
    target = root / head.removeprefix("gitdir: ").strip("\r\n")
    return Path(os.path.realpath(target)) if os.path.exists(target / "HEAD") else None


def _small(path: Path, limit: int = 4096) -> str:
    """The beginning of a regular file as text; "" for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return os.fsdecode(os.read(handle, limit))
    except OSError:
        return ""
    finally:
        os.close(handle)


def _branch(git_dir: Path) -> str:
    head = _small(git_dir / "HEAD").strip()
    if head.startswith("ref: "):
        ref = head.removeprefix("ref: ").strip()
        # A repository with the reftable format keeps only a placeholder in this file.
        return "unknown" if ref.endswith("/.invalid") else ref.removeprefix(_REF_PREFIX)
    return f"detached at {head[:8]}" if _OBJECT_ID.fullmatch(head) else "unknown"


def _branch_of(repository: _Repository) -> str:
    from xun_cli._git_python import head_of

    head = head_of(repository.root, repository.git_dir, repository.common_dir)
    if head is None:
        return _branch(repository.git_dir)
    return head.branch or f"detached at {head.commit[:8]}"


def _open(folder: Path) -> _Repository | None:
    root = find_root(folder)
    git_dir = _git_dir(root) if root is not None else None
    if root is None or git_dir is None:
        return None
    common = _small(git_dir / "commondir").strip().replace("\0", "")
    return _Repository(root, git_dir, Path(os.path.realpath(git_dir / common)) if common else git_dir)


def _ask(repository: _Repository, arguments: Sequence[str], timeout: float, limit: int) -> _Answer:
    import tempfile
    import time

    end = time.monotonic() + timeout
    with tempfile.TemporaryDirectory(prefix="xun-git-") as folder:
        private = Path(folder)
        options = _options(repository, timeout)
        try:
            _furnish(private, repository, options)
        except OSError as exc:
            raise GitFailed(f"its files can't be read ({exc.strerror or exc})") from exc
        output, cut = run_git(
            ("--literal-pathspecs", *arguments),
            cwd=repository.root,
            git_dir=private,
            work_tree=repository.root,
            timeout=max(0.1, end - time.monotonic()),
            limit=limit,
        )
    return _Answer(output, cut)


@dataclass(frozen=True, slots=True)
class _Answer:
    output: bytes
    cut: bool


def _options(repository: _Repository, timeout: float) -> list[tuple[str, str]]:
    """The harmless part of the configuration; git itself reads it, which runs nothing."""
    output, _ = run_git(
        ("config", "--includes", "--list", "--show-scope", "-z"),
        cwd=repository.root,
        git_dir=repository.git_dir,
        work_tree=repository.root,
        timeout=timeout,
        limit=_LISTING_LIMIT,
        own_config=True,
    )
    found: dict[str, str] = {}
    fields = output.split(b"\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = os.fsdecode(entry).partition("\n")
        key = key.lower()
        users_own = key == "core.excludesfile" and scope in (b"global", b"system") and value.isprintable()
        if users_own or value.lower() in _SAFE_KEYS.get(key, ()):
            found[key] = value
    return list(found.items())


def _furnish(private: Path, repository: _Repository, options: list[tuple[str, str]]) -> None:
    """Fill the private git folder."""
    head = _small(repository.git_dir / "HEAD")
    (private / "HEAD").write_bytes(os.fsencode(head))
    with suppress(FileNotFoundError):
        _copy_index(repository.git_dir / "index", private / "index")
    for shared in repository.git_dir.glob("sharedindex.*"):
        (private / shared.name).symlink_to(shared)
    for name in _LINKED:
        source = repository.common_dir / name
        if source.exists():
            (private / name).symlink_to(os.path.realpath(source))
    (private / "info").mkdir()
    for name in _COPIED:
        text = _small(repository.common_dir / name, 1_000_000)
        if text:
            (private / name).write_bytes(os.fsencode(text))
    lines = [_config_line(key, value) for key, value in options]
    (private / "config").write_bytes(os.fsencode("\n".join(["[core]\n\tbare = false", *lines]) + "\n"))


def _copy_index(source: Path, target: Path) -> None:
    handle = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as index, target.open("wb") as copy:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise GitFailed("its index is no regular file")
        if found.st_size > _INDEX_LIMIT:
            raise GitFailed("its index is too large")
        left = _INDEX_LIMIT
        while left > 0 and (piece := index.read(min(left, 1 << 20))):
            copy.write(piece)
            left -= len(piece)
    # With its time: git looks again at files that changed in the instant in which the index was written.
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _config_line(key: str, value: str) -> str:
    section, _, name = key.partition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{section}]\n\t{name} = "{quoted}"'


def _has_commit(repository: _Repository) -> bool:
    head = _small(repository.git_dir / "HEAD").strip()
    if not head.startswith("ref: "):
        return True
    ref = head.removeprefix("ref: ").strip()
    if os.path.exists(repository.common_dir / "reftable"):
        return True
    if ".." in ref or not ref.startswith("refs/"):
        return False
    if os.path.exists(repository.common_dir / ref):
        return True
    packed = _small(repository.common_dir / "packed-refs", 16_000_000)
    return any(line.endswith(f" {ref}") for line in packed.splitlines())


def _names(output: bytes) -> list[str]:
    return [os.fsdecode(item) for item in output.split(b"\0") if item]


def _parse_status(output: bytes) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    changed = []
    untracked = []
    for record in _names(output):
        kind = record[:1]
        if kind == "?":
            untracked.append(record[2:])
        elif kind == "1":
            parts = record.split(" ", 8)
            changed.append((parts[1], parts[8]))
        elif kind == "u":
            parts = record.split(" ", 10)
            changed.append((parts[1], parts[10]))
    return tuple(changed), tuple(untracked)
