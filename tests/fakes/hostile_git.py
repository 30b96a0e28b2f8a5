"""Git repositories full of traps: each touches a canary file when git runs what the repository chose.

A `Trap` can be set alone (`one`), to see that a plain git falls into it, or with all others (`build`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

NAMES = ("a;touch pwn", "$(touch pwn)", "`touch pwn`", "--output=pwn", "new\nline", os.fsdecode(b"bad\xff"), "-x")
NOWHERE = "127.0.0.1:9"
"""An address that answers nothing."""


@dataclass(frozen=True, slots=True)
class HostileRepository:
    """The repository, and the folder in which no file may ever appear."""

    root: Path
    canaries: Path

    def fired(self) -> list[str]:
        """The traps that went off, by name."""
        pwned = [str(path.relative_to(self.root)) for path in self.root.rglob("pwn")]
        return sorted([*os.listdir(self.canaries), *pwned])


@dataclass(frozen=True, slots=True)
class Trap:
    """One way in which a repository names a program.

    Attributes:
        name: Of the trap and of its canary.
        sets: Configuration by key. ``{cmd}`` is a command that touches the canary, ``{prog}`` a program that does.
        fires: A git command that a plain git falls for.
        terminal: The command needs a terminal.
        files: Text by path below the repository; what is under ``.git/hooks/`` becomes executable.
        prepare: What else has to be there.
        folder: Where the command is run.
    """

    name: str
    sets: dict[str, str]
    fires: tuple[str, ...]
    terminal: bool = False
    files: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], None] | None = None
    folder: str = "."


def git(folder: Path, *arguments: str) -> None:
    """Run git to build the repository, with an identity and no user configuration."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **IDENTITY}
    subprocess.run(["git", *arguments], cwd=folder, check=True, env=env, capture_output=True)


IDENTITY = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
}


def _conflict(root: Path) -> None:
    git(root, "checkout", "-q", "--", ".")
    git(root, "checkout", "-q", "-b", "three", "two")
    (root / "plain.txt").write_text("three\n")
    git(root, "commit", "-q", "-am", "three")
    git(root, "checkout", "-q", "main")
    (root / "plain.txt").write_text("four\n")
    git(root, "commit", "-q", "-am", "four")


def _unmerged(root: Path) -> None:
    _conflict(root)
    subprocess.run(["git", "merge", "-q", "three"], cwd=root, env={**os.environ, **IDENTITY}, capture_output=True)


def _signed(root: Path, form: str = "gpgsig") -> None:
    """Make a commit that says it is signed."""
    mark = {"gpgsig": "PGP", "ssh": "SSH"}[form]
    found = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=root, capture_output=True, check=True)
    head, _, message = found.stdout.partition(b"\n\n")
    signature = f"gpgsig -----BEGIN {mark} SIGNATURE-----\n \n AAAA\n -----END {mark} SIGNATURE-----".encode()
    whole = head + b"\n" + signature + b"\n\n" + message
    hash_object = ["git", "hash-object", "-t", "commit", "-w", "--stdin"]
    made = subprocess.run(hash_object, cwd=root, input=whole, capture_output=True, check=True)
    git(root, "update-ref", "HEAD", made.stdout.decode().strip())


def _lost_blob(root: Path) -> None:
    found = subprocess.run(["git", "rev-parse", "HEAD:plain.txt"], cwd=root, capture_output=True, check=True)
    name = found.stdout.decode().strip()
    (root / ".git/objects" / name[:2] / name[2:]).unlink()


def _alternates(root: Path) -> None:
    other = root / "other.git"
    git(root, "clone", "-q", "--bare", ".", str(other))
    (root / ".git/objects/info/alternates").write_text(f"{other}/objects\n")


def _modules(root: Path) -> None:
    (root / ".gitmodules").write_text('[submodule "inner"]\n\tpath = sub\n\turl = ./sub\n')


def _touched(root: Path) -> None:
    # Git looks at the content again, and writes the index anew, where only the time differs.
    os.utime(root / "still.txt", (1, 1))


def _hook(name: str, *fires: str, prepare: Callable[[Path], None] | None = None) -> Trap:
    script = {f".git/hooks/{name}": "#!/bin/sh\n{cmd}\n"}
    return Trap(f"hook {name}", {}, fires, files=script, prepare=prepare)


_BARE = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n"
_SSH = {"gpg.format": "ssh"}
_REMOTE = {"remote.origin.url": ".", "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*"}
_COMMIT = ("commit", "--allow-empty", "-m", "x")

TRAPS: tuple[Trap, ...] = (
    Trap("core.fsmonitor", {"core.fsmonitor": "{cmd}"}, ("status",)),
    Trap("fsmonitor hook", {"core.fsmonitor": ".git/hooks/fsmonitor-watchman"}, ("diff",),
         files={".git/hooks/fsmonitor-watchman": "#!/bin/sh\n{cmd}\n"}),
    Trap("core.pager", {"core.pager": "{cmd}"}, ("log",), terminal=True),
    Trap("pager.diff", {"pager.diff": "{cmd}"}, ("diff",), terminal=True),
    Trap("pager.status", {"pager.status": "{cmd}"}, ("status",), terminal=True),
    Trap("core.editor", {"core.editor": "{cmd}"}, ("commit", "--amend", "--allow-empty")),
    Trap("sequence.editor", {"sequence.editor": "{cmd}"}, ("rebase", "-i", "--autostash", "HEAD~1")),
    Trap("core.sshCommand", {"core.sshCommand": "{cmd}"}, ("ls-remote", "ssh://example.invalid/x")),
    Trap("core.gitProxy", {"core.gitProxy": "{prog}"}, ("ls-remote", "git://example.invalid/x")),
    Trap("core.alternateRefsCommand", {"core.alternateRefsCommand": "{cmd}", **_REMOTE}, ("fetch", "origin"),
         prepare=_alternates),
    Trap("diff.external", {"diff.external": "{cmd}"}, ("diff",)),
    Trap("diff.trap.command", {"diff.trap.command": "{cmd}"}, ("diff",)),
    Trap("diff.trap.textconv", {"diff.trap.textconv": "{cmd}"}, ("diff",)),
    Trap("textconv in log", {"diff.trap.textconv": "{cmd}"}, ("log", "-p")),
    Trap("textconv in show", {"diff.trap.textconv": "{cmd}"}, ("show", "HEAD~1")),
    Trap("textconv in blame", {"diff.trap.textconv": "{cmd}"}, ("blame", "plain.txt")),
    Trap("filter.trap.clean", {"filter.trap.clean": "{cmd}"}, ("add", "kept.bin")),
    Trap("clean in status", {"filter.trap.clean": "{cmd}"}, ("status",)),
    Trap("filter.trap.smudge", {"filter.trap.smudge": "{cmd}"}, ("checkout", "--", "kept.bin")),
    Trap("filter.trap.process", {"filter.trap.process": "{cmd}"}, ("diff",)),
    Trap("filter by attributes", {"filter.trap.clean": "{cmd}"}, ("diff",),
         files={".git/info/attributes": "* filter=trap\n"}),
    Trap("merge.trap.driver", {"merge.trap.driver": "{cmd}"}, ("merge", "three"), prepare=_conflict,
         files={".git/info/attributes": "* merge=trap\n"}),
    Trap("gpg.program", {"gpg.program": "{prog}"}, ("log", "--show-signature"), prepare=_signed),
    Trap("log.showSignature", {"gpg.program": "{prog}", "log.showSignature": "true"}, ("log",), prepare=_signed),
    Trap("format.pretty", {"gpg.program": "{prog}", "format.pretty": "%G?"}, ("log",), prepare=_signed),
    Trap("gpg.ssh.program", {**_SSH, "gpg.ssh.program": "{prog}", "user.signingKey": "key::x"}, (*_COMMIT, "-S")),
    Trap("gpg.x509.program", {"gpg.format": "x509", "gpg.x509.program": "{prog}"}, (*_COMMIT, "-S")),
    Trap("gpg.ssh.defaultKeyCommand", {**_SSH, "gpg.ssh.defaultKeyCommand": "{cmd}"}, (*_COMMIT, "-S")),
    Trap("credential.helper", {"credential.helper": "!{cmd}"}, ("credential", "fill")),
    Trap("core.askPass", {"core.askPass": "{prog}"}, ("credential", "fill")),
    Trap("interactive.diffFilter", {"interactive.diffFilter": "{cmd}"}, ("add", "-p"), terminal=True),
    Trap("difftool.trap.cmd", {"difftool.trap.cmd": "{cmd}"}, ("difftool", "-y", "-t", "trap")),
    Trap("mergetool.trap.cmd", {"mergetool.trap.cmd": "{cmd}"}, ("mergetool", "-y", "-t", "trap"), prepare=_unmerged),
    Trap("browser.trap.cmd", {"browser.trap.cmd": "{cmd}", "web.browser": "trap"}, ("web--browse", "x")),
    Trap("man.trap.cmd", {"man.trap.cmd": "{cmd}", "man.viewer": "trap"}, ("help", "status")),
    Trap("remote.origin.uploadpack", {**_REMOTE, "remote.origin.uploadpack": "{cmd}"}, ("fetch", "origin")),
    Trap("remote.origin.receivepack", {**_REMOTE, "remote.origin.receivepack": "{cmd}"},
         ("push", "origin", "main:new")),
    Trap("partial clone", {**_REMOTE, "remote.origin.uploadpack": "{cmd}", "remote.origin.promisor": "true",
                           "extensions.partialClone": "origin"}, ("show", "HEAD:plain.txt"), prepare=_lost_blob),
    Trap("ext transport", {**_REMOTE, "remote.origin.url": "ext::{prog}", "protocol.ext.allow": "always"},
         ("fetch", "origin")),
    Trap("url.insteadOf", {"url.ext::{prog} %S.insteadOf": "safe:", "protocol.ext.allow": "always",
                           "remote.origin.url": "safe:x"}, ("fetch", "origin")),
    Trap("trailer.trap.command", {"trailer.trap.command": "{cmd}", "trailer.trap.key": "X"}, ("interpret-trailers",)),
    Trap("trailer.trap.cmd", {"trailer.trap.cmd": "{cmd}", "trailer.trap.key": "X"},
         ("interpret-trailers", "--trailer", "X=y")),
    Trap("submodule.inner.update", {"submodule.inner.update": "!{cmd}", "submodule.inner.url": "./sub"},
         ("submodule", "update", "--force"), prepare=_modules),
    Trap("tar.trap.command", {"tar.trap.command": "{cmd}"}, ("archive", "--format=trap", "HEAD")),
    Trap("alias.lg", {"alias.lg": "!{cmd}"}, ("lg",)),
    Trap("include.path", {"include.path": "../included.cfg"}, ("status",),
         files={"included.cfg": '[core]\n\tfsmonitor = "{cmd}"\n'}),
    Trap("includeIf", {"includeIf.onbranch:main.path": "../included2.cfg"}, ("status",),
         files={"included2.cfg": '[core]\n\tfsmonitor = "{cmd}"\n'}),
    Trap("config.worktree", {"extensions.worktreeConfig": "true", "core.repositoryFormatVersion": "1"}, ("status",),
         files={".git/config.worktree": '[core]\n\tfsmonitor = "{cmd}"\n'}),
    Trap("core.hooksPath", {"core.hooksPath": "myhooks"}, ("status",), prepare=_touched,
         files={"myhooks/post-index-change": "#!/bin/sh\n{cmd}\n"}),
    Trap("bare folder", {}, ("status",), folder="docs",
         files={"docs/config": f'{_BARE}\tfsmonitor = "{{cmd}}"\n'}),
    Trap("submodule", {}, ("status",), files={"sub/.git/config": '[core]\n\tbare = false\n\tfsmonitor = "{cmd}"\n'}),
    _hook("post-index-change", "status", prepare=_touched),
    _hook("pre-commit", *_COMMIT),
    _hook("prepare-commit-msg", *_COMMIT),
    _hook("commit-msg", *_COMMIT),
    _hook("post-commit", *_COMMIT),
    _hook("post-checkout", "checkout", "-f", "two"),
    _hook("post-merge", "merge", "-X", "ours", "three", prepare=_conflict),
    _hook("pre-rebase", "rebase", "three", prepare=_conflict),
    _hook("pre-push", "push", ".", "main:new"),
    _hook("reference-transaction", "branch", "new"),
)  # fmt: skip


def template(base: Path) -> Path:
    """Make the repository without traps below *base*, and return its root."""
    root = base / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main", ".")
    for name in (*NAMES, "plain.txt", "kept.bin", "still.txt"):
        (root / name).write_text("one\n")
    (root / ".gitattributes").write_text("* diff=trap\n*.bin filter=trap\n")
    _embed_bare(root / "docs")
    _embed_submodule(root / "sub")
    git(root, "add", "-A", "--", ".")
    git(root, "commit", "-q", "-m", "first")
    git(root, "branch", "--", "two")
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    for name in (*NAMES, "plain.txt"):
        (root / name).write_text("one\ntwo\n")
    # Of the same size as before: status then has to read it, and a filter would run.
    (root / "kept.bin").write_text("eno\n")
    (root / "sub/file").write_text("changed\n")
    (root / "untracked.txt").write_text("u\n")
    return root


def build(base: Path) -> HostileRepository:
    """Make the repository with all traps below *base*."""
    root = template(base)
    made = _armed(root, base)
    for trap in TRAPS:
        set_trap(made, trap, alone=False)
    for name in ("git", "sh", "cat", "less"):
        program = root / name
        program.write_text(f"#!/bin/sh\ntouch '{made.canaries / name}'\n")
        program.chmod(0o755)
    return made


def one(source: Path, base: Path, trap: Trap) -> HostileRepository:
    """Copy the repository *source* to *base*, with this one trap."""
    base.mkdir()
    made = _armed(Path(shutil.copytree(source, base / "repo", symlinks=True)), base)
    set_trap(made, trap)
    return made


def _armed(root: Path, base: Path) -> HostileRepository:
    canaries = base / "canaries"
    canaries.mkdir()
    return HostileRepository(root, canaries)


def set_trap(repository: HostileRepository, trap: Trap, *, alone: bool = True) -> None:
    """Set *trap*; not *alone*: without what would need a state of its own."""
    root, canary = repository.root, repository.canaries / trap.name
    if trap.prepare is not None and (alone or trap.prepare in (_touched, _modules)):
        trap.prepare(root)
    program = root / ".git/programs" / canary.name.replace(" ", "-")
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\ntouch '{canary}'\n")
    program.chmod(0o755)
    fill = partial(_filled, command=f"touch '{canary}';:", program=str(program))
    with (root / ".git/config").open("a") as config:
        for key, value in trap.sets.items():
            if alone or not key.startswith("remote.") or "url" not in key.lower():
                config.write(_entry(fill(key), fill(value)))
    for name, text in trap.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text))
        if "hooks/" in name:
            path.chmod(0o755)


def _filled(text: str, command: str, program: str) -> str:
    return text.replace("{cmd}", command).replace("{prog}", program)


def _entry(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    head = f'[{section} "{subsection}"]' if subsection else f"[{section}]"
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{head}\n\t{name} = "{quoted}"\n'


def fall_for(repository: HostileRepository, trap: Trap) -> list[str]:
    """Run plain git as *trap* wants it, and return what went off."""
    env = {"PATH": os.environ["PATH"], "HOME": str(repository.root), "TERM": "xterm", **IDENTITY}
    command = ["git", *trap.fires]
    if trap.terminal:
        command = ["script", "-qec", " ".join(command), "/dev/null"]
    subprocess.run(
        command, cwd=repository.root / trap.folder, env=env, capture_output=True, timeout=20,
        input=b"protocol=https\nhost=example.invalid\nusername=u\n\n" if trap.fires[0] == "credential" else b"y\nq\n",
    )  # fmt: skip
    return repository.fired()


def _embed_bare(folder: Path) -> None:
    folder.mkdir()
    (folder / "objects").mkdir()
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(_BARE)
    (folder / "notes.txt").write_text("n\n")


def _embed_submodule(inner: Path) -> None:
    inner.mkdir()
    git(inner, "init", "-q", ".")
    (inner / "file").write_text("f\n")
    git(inner, "add", "file")
    git(inner, "commit", "-q", "-m", "inner")
