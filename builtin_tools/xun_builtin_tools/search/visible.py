"""Whether single files of a tree are ignored, without walking it."""

from __future__ import annotations

import os
from pathlib import Path

from xun_builtin_tools.search.gitignore import RuleSet, byte_name
from xun_builtin_tools.search.ignore_rules import (
    IGNORE_FILE,
    REPOSITORY,
    OuterRules,
    ignored,
    read_ignore_file,
    repository_rules,
)


class Visibility:
    """Answers for paths of one tree; what it read of ignore files it keeps."""

    def __init__(self, root: Path, outer: OuterRules) -> None:
        self._root = root
        self._outer = outer
        self._folders: dict[str, tuple[RuleSet, ...] | None] = {}

    def shows(self, path: str) -> bool:
        """Return whether no rule ignores the file *path* (relative to the root) or a folder above it."""
        folder, _, name = path.rpartition("/")
        rules = self._rules(folder)
        return rules is not None and not self._ignored(rules, path, name, False)

    def _rules(self, folder: str) -> tuple[RuleSet, ...] | None:
        """Return the rules that hold in a folder; None when it is ignored."""
        if folder in self._folders:
            return self._folders[folder]
        rules: tuple[RuleSet, ...] | None = self._outer.sets
        if folder:
            parent, _, name = folder.rpartition("/")
            rules = self._rules(parent)
            if rules is not None and self._ignored(rules, folder, name, True):
                rules = None
        if rules is not None:
            rules = self._with_own(folder, rules)
        self._folders[folder] = rules
        return rules

    def _with_own(self, folder: str, rules: tuple[RuleSet, ...]) -> tuple[RuleSet, ...]:
        place = self._root / folder
        offset = self._outer.offset + (byte_name(folder) + "/" if folder else "")
        if folder and os.path.lexists(place / REPOSITORY):
            rules = repository_rules(place, offset)
        try:
            data = read_ignore_file(place / IGNORE_FILE)
        except OSError:
            return rules
        if not data:
            return rules
        return (*rules, RuleSet(data, offset))

    def _ignored(self, rules: tuple[RuleSet, ...], path: str, name: str, is_folder: bool) -> bool:
        return ignored(rules, self._outer.offset + byte_name(path), byte_name(name), is_folder)
