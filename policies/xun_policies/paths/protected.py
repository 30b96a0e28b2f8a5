"""Paths whose contents run later by themselves: a write there needs a question each time."""

from __future__ import annotations

import os
import re
import unicodedata
from itertools import pairwise

from xun_policies.paths.real import within
from xun_policies.wordset import wordset

PROTECTED_FOLDERS = wordset(
    ".git .hg .xun .vscode .vs .theia .idea .devcontainer .husky .zed .fleet .ssh "
    ".amazonq .augment .claude .cline .clinerules .codex .continue .crush .cursor .gemini .goose .junie .kiro "
    ".opencode .qwen .roo .trae .windsurf .lefthook .mise .nvim .vim"
)
"""Folders whose files configure xun, git, editors, other agents or remote shells."""

PROTECTED_FILES = wordset(
    ".envrc .direnvrc .pre-commit-config.yaml .lefthook.yml .lefthook.yaml lefthook.yml lefthook.yaml "
    "lefthook-local.yml .gitconfig .gitmodules .hgrc .mcp.json .devcontainer.json makefile gnumakefile "
    ".exrc .nvimrc .nvim.lua .vimrc .lvimrc .emacs .dir-locals.el .bashrc .bash_profile .bash_login .bash_logout "
    ".bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .tmux.conf "
    ".gdbinit .lldbinit .npmrc .yarnrc .yarnrc.yml .curlrc .wgetrc .netrc .pypirc "
    ".aider.conf.yml .claude.json .crush.json crush.json opencode.json opencode.jsonc "
    "lefthook.toml .lefthook.toml lefthook.json .lefthook.json lefthook-local.yaml .lefthook-local.yml "
    ".lefthook-local.yaml .huskyrc .huskyrc.json .overcommit.yml .simple-git-hooks.json mise.toml .mise.toml "
    "mise.local.toml .mise.local.toml "
    ".erlang .ghci .iex.exs .irbrc .ocamlinit .octaverc .pdbrc .pryrc .rprofile .sbclrc "
    ".login .logout .bash_completion .pam_environment .screenrc .xinitrc .xprofile .xsession .xsessionrc "
    ".forward .mailcap .mailrc .muttrc .procmailrc .psqlrc .sqliterc .tigrc"
)
"""Files that an editor, a shell, git or a listed command runs or obeys when somebody merely opens the folder."""

PROTECTED_SETTINGS = wordset("autostart curlrc direnv environment.d fish git mise nvim pip systemd")
"""What is protected in a folder named ``.config``: the same, in the place that a home folder has for it."""

PROTECTED_SUFFIXES = (".code-workspace", ".sublime-project")


def folded(name: str) -> str:
    """Return *name* as the most forgiving file system compares it (CVE-2025-59944).

    HFS+ passes by characters that are not shown (CVE-2014-9390). NTFS cuts dots and blanks at the end, knows the
    streams of a file behind a colon, and has a short name for a long one.
    """
    if not name.isascii():
        shown = "".join(char for char in name if unicodedata.category(char) != "Cf")
        name = unicodedata.normalize("NFC", shown)
    name = name.partition(":")[0].casefold().rstrip(". ")
    return ".git" if re.fullmatch(r"git~[0-9]", name) else name


def folded_path(path: str) -> str:
    """Return *path* with every part `folded`."""
    return "/".join(map(folded, path.split("/")))


def is_protected(path: str, root: str) -> bool:
    """Tell whether a write to the canonical *path*, which is below the canonical *root*, always asks.

    Besides the names above it covers git's own folders under any name: bare repositories, and
    those that the ``.git`` file of a worktree or submodule points to.
    """
    below = os.path.relpath(path, root) if path != root else ""
    parts = [folded(part) for part in below.split(os.sep) if part not in ("", ".")]
    if any(part in PROTECTED_FOLDERS for part in parts):
        return True
    if any(pair[0] == ".config" and pair[1] in PROTECTED_SETTINGS for pair in pairwise(parts)):
        return True
    if parts and (parts[-1] in PROTECTED_FILES or parts[-1].endswith(PROTECTED_SUFFIXES)):
        return True
    if any(folded(part) == ".git" for part in root.split(os.sep)):
        return True
    return _in_git_folder(path, root)


def _in_git_folder(path: str, root: str) -> bool:
    pointed = _pointed_git_folder(root)
    if pointed is not None and within(path, pointed):
        return True
    folder = path
    while True:
        if _is_git_folder(folder):
            return True
        if folder == root or not folder.startswith(root):
            return False
        folder = os.path.dirname(folder)


def _is_git_folder(folder: str) -> bool:
    # Git's own test (setup.c, is_git_directory): HEAD, and objects with refs or a commondir file.
    if not os.path.lexists(f"{folder}/HEAD"):
        return False
    if os.path.isfile(f"{folder}/commondir"):
        return True
    return os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs")


def _pointed_git_folder(root: str) -> str | None:
    """Return the folder that a ``.git`` file in *root* names, whether or not it exists yet."""
    try:
        with open(f"{root}/.git", "rb", opener=_plain_file) as file:
            text = file.read(4096)
    except OSError:
        return None
    if not text.startswith(b"gitdir:"):
        return None
    target = os.fsdecode(text[7:].split(b"\n", 1)[0].strip())
    if not target or "\0" in target:
        return None
    return os.path.realpath(os.path.join(root, target))


def _plain_file(path: str, flags: int) -> int:
    # A FIFO of that name must not block the check.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
