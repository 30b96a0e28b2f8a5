"""A git repository full of traps: each would touch a canary file if git ran what the repository chose."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

COMMAND_KEYS = (
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.sshCommand",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "pager.status",
    "pager.diff",
    "pager.ls-files",
    "pager.config",
    "diff.external",
    "diff.trap.command",
    "diff.trap.textconv",
    "filter.trap.clean",
    "filter.trap.smudge",
    "filter.trap.process",
    "merge.trap.driver",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "credential.helper",
    "interactive.diffFilter",
    "difftool.trap.cmd",
    "mergetool.trap.cmd",
    "web.browser",
    "uploadpack.packObjectsHook",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "trailer.trap.command",
    "submodule.inner.update",
    "alias.status",
    "alias.diff",
    "alias.ls-files",
    "alias.config",
)
HOOKS = (
    "post-index-change",
    "post-checkout",
    "pre-commit",
    "fsmonitor-watchman",
    "reference-transaction",
    "query-watchman",
)
NAMES = ("a;touch pwn", "$(touch pwn)", "`touch pwn`", "--output=pwn", "new\nline", os.fsdecode(b"bad\xff"), "-x")


@dataclass(frozen=True, slots=True)
class HostileRepository:
    """The repository, and the folder in which no file may ever appear."""

    root: Path
    canaries: Path

    def fired(self) -> list[str]:
        """The traps that went off, by name."""
        pwned = [str(path.relative_to(self.root)) for path in self.root.rglob("pwn")]
        return sorted([*os.listdir(self.canaries), *pwned])


def build(base: Path) -> HostileRepository:
    """Make the repository below *base*."""
    root = base / "repo"
    canaries = base / "canaries"
    root.mkdir()
    canaries.mkdir()
    git(root, "init", "-q", "-b", "main", ".")
    for name in (*NAMES, "plain.txt", "kept.bin"):
        (root / name).write_text("one\n")
    (root / ".gitattributes").write_text("* diff=trap\n*.bin filter=trap\n")
    _embed_bare(root / "docs", canaries)
    _embed_submodule(root, canaries)
    git(root, "add", "-A", "--", ".")
    git(root, "commit", "-q", "-m", "first")
    git(root, "branch", "--", "two")
    for name in (*NAMES, "plain.txt"):
        (root / name).write_text("one\ntwo\n")
    # Of the same size as before: status then has to read it, and a filter would run.
    (root / "kept.bin").write_text("eno\n")
    (root / "sub/file").write_text("changed\n")
    (root / "untracked.txt").write_text("u\n")
    _set_traps(root, canaries)
    return HostileRepository(root, canaries)


def git(folder: Path, *arguments: str) -> None:
    """Run git to build the repository, with an identity and no user configuration."""
    identity = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org"}
    identity |= {"GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org"}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **identity}
    subprocess.run(["git", *arguments], cwd=folder, check=True, env=env, capture_output=True)


def _trap(canaries: Path, name: str) -> str:
    return f"touch '{canaries / name}';:"


def _set_traps(root: Path, canaries: Path) -> None:
    config = root / ".git/config"
    lines = []
    for key in COMMAND_KEYS:
        parts = key.split(".")
        section = parts[0] if len(parts) == 2 else f'{parts[0]} "{".".join(parts[1:-1])}"'
        value = _trap(canaries, key)
        if key.startswith("alias."):
            value = "!" + value
        lines.append(f'[{section}]\n\t{parts[-1]} = "{value}"')
    lines.append("[include]\n\tpath = ../included.cfg\n[pager]\n\tbranch = true")
    config.write_text(config.read_text() + "\n".join(lines) + "\n")
    (root / "included.cfg").write_text(f'[core]\n\tfsmonitor = "{_trap(canaries, "included")}"\n')
    for name in HOOKS:
        hook = root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{canaries / name}'\n")
        hook.chmod(0o755)
    for name in ("git", "sh", "cat", "less"):
        program = root / name
        program.write_text(f"#!/bin/sh\ntouch '{canaries / name}'\n")
        program.chmod(0o755)


def _embed_bare(folder: Path, canaries: Path) -> None:
    folder.mkdir()
    (folder / "objects").mkdir()
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    trap = _trap(canaries, "bare")
    (folder / "config").write_text(f'[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "{trap}"\n')
    (folder / "notes.txt").write_text("n\n")


def _embed_submodule(root: Path, canaries: Path) -> None:
    inner = root / "sub"
    inner.mkdir()
    git(inner, "init", "-q", ".")
    (inner / "file").write_text("f\n")
    git(inner, "add", "file")
    git(inner, "commit", "-q", "-m", "inner")
    config = inner / ".git/config"
    config.write_text(config.read_text() + f'[core]\n\tfsmonitor = "{_trap(canaries, "submodule")}"\n')
