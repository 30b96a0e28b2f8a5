"""From one parse to the status of each piece: names, guards, paths, grants."""

from __future__ import annotations

import os
import re

from xun_policies import defaults, gitprobe, loaded_files, shims
from xun_policies.git_globals import git_globals
from xun_policies.grant_options import beyond
from xun_policies.grants import CommandEntry, CommandGrant, is_wide, offer
from xun_policies.guards.options import Call
from xun_policies.guards.rules import Rule, apply
from xun_policies.shell.grammar import Group, Pipeline, Sequence, Simple
from xun_policies.shell.lexer import Problem, Word
from xun_policies.shell.lookup import DEFAULT_PATH, Lookup
from xun_policies.shell.places import Places
from xun_policies.store import PolicyState
from xun_policies.verdicts import CommandScope
from xun_policies.wordset import wordset

_PLAIN_FOLDER = r"[A-Za-z0-9_./+@:-]+"
_HELPERS = {
    "egrep": ("grep",),
    "fgrep": ("grep",),
    "npm ls": ("node",),
    "npm": ("node",),
    "pip freeze": ("git", "hg", "svn", "bzr"),
}
"""Listed names and prefixes with the programs that they look up along PATH in turn."""
_PLAIN_WORD = r"[A-Za-z][A-Za-z0-9_-]*"
_MOST_CWDS = 16
_SPEAKERS = frozenset({"echo", "printf", "test", "["})
_PWD_READERS = wordset("ls cat head tail wc du stat tree file basename dirname realpath readlink find rg grep")
_CLIMBS = r"(?:^-[A-Za-z]+|[/,:])\.\.(?:/|$)"
_ATTACHED = r"-[A-Za-z]([/~.][\s\S]*)"

Cwds = tuple[str, ...]


class Judgement:
    """The status of one command."""

    __slots__ = ("allowed", "grant", "reason", "rule")

    def __init__(self, allowed: bool, rule: str, reason: str, grant: CommandGrant | None = None) -> None:
        self.allowed = allowed
        self.rule = rule
        self.reason = reason
        self.grant = grant


def _ask(problem: Problem) -> Judgement:
    return Judgement(False, problem.rule, problem.reason)


class Judge:
    """Judges the commands of one parse."""

    __slots__ = ("_lookup", "_places", "_policy", "_rules", "_scope", "outside")

    def __init__(self, policy: PolicyState, scope: CommandScope) -> None:
        self._policy = policy
        self._scope = scope
        self._rules = defaults.rules()
        self._places = Places(scope.cwd, scope.roots, policy.cache)
        self._lookup = Lookup(self._path(), self._places)
        self.outside = not self._places.holds(self._places.cwd)

    def _path(self) -> str:
        path = self._scope.path
        return os.environ.get("PATH", DEFAULT_PATH) if path is None else path

    @classmethod
    def take(cls, policy: PolicyState, scope: CommandScope) -> Judge:
        """Return a judge for *scope* that nobody else uses; `give_back` lets the next text profit from it."""
        judge: Judge | None = policy.cache.pop(_key(scope), None)
        if judge is None:
            return cls(policy, scope)
        judge.begin()
        return judge

    def give_back(self) -> None:
        """Let the next evaluation in this scope use what this one remembers."""
        self._policy.cache[_key(self._scope)] = self

    def begin(self) -> None:
        """Begin another evaluation."""
        self._places.begin()
        if self._lookup.path != self._path():
            self._lookup = Lookup(self._path(), self._places)
        self._lookup.begin()
        self.outside = not self._places.holds(self._places.cwd)

    @property
    def start(self) -> str:
        """The real path of the folder in which the text starts."""
        return self._places.cwd

    def command(self, command: Simple) -> Judgement:
        """Return the status of *command*."""
        words = command.words
        odd = False
        for word in words:
            if word.odd:
                odd = True
                if word.problem is not None:
                    return _ask(word.problem)
        if self.outside:
            return Judgement(False, "path", f"the folder {self._scope.cwd} is outside the workspace")
        if not command.cwds:
            return Judgement(False, "path", "cd may lead to too many folders, or out of the workspace")
        name = words[0]
        if name.quoted or name.glob or name.tilde or name.pwd or name.dynamic or not name.text.isascii():
            return Judgement(False, "name", "the command's name is quoted, a pattern or not plain ASCII")
        if odd:
            problem = _expansions(words, command.cwds)
            if problem is not None:
                return _ask(problem)
            words = [_located(word) for word in words]
        return self._listed(words, command.cwds)

    def _listed(self, words: list[Word], cwds: Cwds) -> Judgement:
        """Judge a command whose words are all known text."""
        name = words[0].text
        tokens: list[Word] | None = words
        git_cwds = cwds
        global_problem: Problem | None = None
        if name == "git":
            tokens, git_cwds, global_problem = git_globals(words, cwds, self._places)
        found = self._builtin(words, tokens, git_cwds, global_problem)
        if found.allowed:
            return found
        return self._granted(found, words, tokens, cwds, git_cwds)

    def _builtin(self, words: list[Word], tokens: list[Word] | None, cwds: Cwds, problem: Problem | None) -> Judgement:
        name = words[0].text
        if problem is not None:
            return _ask(problem)
        texts = tuple([word.text for word in tokens or words])
        if len(texts) == 2 and texts in defaults.versions() and " ".join(texts) not in self._policy.excluded:
            return self._checked(name, f'built-in "{" ".join(texts)}"', cwds, probe=False)
        if len(texts) == 2 and defaults.answers(texts) and name not in self._policy.excluded:
            return self._checked(name, f'built-in prefix "{name}"', cwds, probe=False)
        rule = defaults.find(texts)
        if rule is not None:
            return self._guarded(rule, (tokens or words)[len(rule.prefix) :], cwds)
        if "/" in name:
            return Judgement(False, "name", f"{name} is a path; only bare names are listed")
        if name in self._rules:
            form = (
                f'"{name} {texts[1]}"'
                if len(texts) > 1 and re.fullmatch(_PLAIN_WORD, texts[1])
                else f"this form of {name}"
            )
            return Judgement(
                False, "not-listed", f"{form} is not in the allowlist{self._more_than_it_says(name, cwds)}"
            )
        return Judgement(False, "not-listed", f"{name} is not in the allowlist")

    def _guarded(self, rule: Rule, rest: list[Word], cwds: Cwds) -> Judgement:
        shown = rule.name
        if shown in self._policy.excluded:
            return Judgement(False, "excluded", f'built-in prefix "{shown}" is excluded in this session')
        if shown == "cd":
            targets = self.cd_targets(rest, cwds)
            if targets is None:
                return Judgement(False, "path", "cd is free for one plain folder inside the workspace")
        else:
            call = Call(rest, self._places, cwds, shown)
            problem = apply(rule, call)
            if problem is not None:
                return Judgement(False, problem.rule, f'built-in prefix "{shown}", but its guard: {problem.reason}')
            for name in call.runs:
                if name in self._policy.excluded:
                    return Judgement(False, "excluded", f'built-in prefix "{name}" is excluded in this session')
                other = self._other(name, cwds)
                if other is not None:
                    return other
        return self._checked(rule.prefix[0], f'built-in prefix "{shown}"', cwds, probe=True, form=shown)

    def _checked(self, name: str, reason: str, cwds: Cwds, *, probe: bool, form: str = "") -> Judgement:
        """Return an allowance, unless PATH or the repository's configuration speaks against it."""
        for program in (name, *_HELPERS.get(form or name, ())):
            other = self._other(program, cwds)
            if other is not None:
                return other
        for known in (name, form) if form != name else (name,):
            if known in loaded_files.PROGRAMS:
                finding = loaded_files.finding(known, self._places, cwds, self._scope.home, self._lookup.path)
                if finding is not None:
                    return Judgement(False, "guard", finding)
        loaded = self._loaded(name, cwds) if probe else None
        if loaded is not None:
            return Judgement(False, "git-config", f"{reason}, but git could run more here: {loaded}")
        return Judgement(True, "builtin", reason)

    def _other(self, name: str, cwds: Cwds) -> Judgement | None:
        """Return why *name* may run another program than the system's, by PATH or by a version manager on it."""
        finding = self._lookup.finding(name)
        if finding is not None:
            return Judgement(False, "lookup", finding)
        shim = shims.finding(self._lookup.suspect(name), self._places, cwds) if self._lookup.shims else None
        return None if shim is None else Judgement(False, "guard", shim)

    def _loaded(self, name: str, cwds: Cwds) -> str | None:
        """Return which program the repository could make git run."""
        if name != "git" or not self._scope.git_probe:
            return None
        found = (gitprobe.finding(cwd, self._places, self._scope.home) for cwd in cwds)
        return next((one for one in found if one is not None), None)

    def _more_than_it_says(self, name: str, cwds: Cwds) -> str:
        """Return what else a person has to know of a command that is asked about."""
        loaded = self._loaded(name, cwds)
        return "" if loaded is None else f", and git could run more here: {loaded}"

    def _granted(
        self, found: Judgement, words: list[Word], tokens: list[Word] | None, cwds: Cwds, git_cwds: Cwds
    ) -> Judgement:
        """Let an entry of the user decide what the built-in list does not, or say what could be granted."""
        if found.rule == "path":
            return found
        outside = self._outside(words, cwds, git_cwds)
        texts = [word.text for word in words]
        normal = texts if tokens is None or tokens is words else [word.text for word in tokens]
        entry = None
        patterns: list[str] = []
        if len(self._policy.command_allowlist):
            patterns = [word.text for word in words if word.glob]
            entry = self._entry(texts, normal, patterns, git_cwds)
        if outside:
            reason = f"{entry.reason}, but" if entry is not None else f"{found.reason}, and"
            return Judgement(False, "path", f"{reason} {outside}")
        # Only a grant, or a suspect folder on PATH, makes it matter which file the name runs.
        if "/" not in texts[0] and (entry is not None or self._lookup.suspicious()):
            finding = self._lookup.finding(texts[0])
            if finding is not None:
                # A grant for a suspect file names that file: the bare name must not run another one some day.
                file = self._lookup.suspect(texts[0])
                if not file:
                    return Judgement(False, "lookup", finding)
                texts, normal = [file, *texts[1:]], [file, *normal[1:]]
                found = Judgement(False, "lookup", finding) if found.rule == "not-listed" else found
                entry = self._entry(texts, normal, patterns, git_cwds)
        if entry is not None and not entry.allowed:
            return _offered(entry, words, texts, None)
        return entry or _offered(found, words, texts, normal if tokens is not None else None)

    def _entry(self, texts: list[str], normal: list[str], patterns: list[str], cwds: Cwds) -> Judgement | None:
        """Return what the entries say of *texts*, or as a prefix of *normal*, which lacks git's globals."""
        refused: Judgement | None = None
        known = self._policy.command_allowlist
        for given in (texts, normal) if normal != texts else (texts,):
            for entry in known.covering(given, patterns):
                if entry.exact and given is not texts:
                    continue
                word = self._beyond(entry, given, patterns, cwds)
                if not word:
                    kind = "granted command" if entry.exact else "granted prefix"
                    return Judgement(True, "granted", f'{kind} "{entry.text}"')
                reason = f'granted prefix "{entry.text}", but {word} may make it run something else'
                refused = refused or Judgement(False, "guard", reason)
        return refused

    def _beyond(self, entry: CommandEntry, given: list[str], patterns: list[str], cwds: Cwds) -> str:
        """Return a word of *given* that *entry* does not cover; a person who granted a wide prefix meant all of it."""
        if entry.exact or is_wide(entry.tokens):
            return ""
        rest = given[len(entry.tokens) :]
        matched = [name for word in patterns for name in self._places.dashed(word, cwds)]
        return beyond(entry.tokens, [*matched, *rest], patterns)

    def _outside(self, words: list[Word], cwds: Cwds, git_cwds: Cwds) -> str:
        """Return what breaks the path rules, which no grant waives; "" when all of *words* keep them."""
        name = words[0].text
        if "/" in name:
            # A path names another file in another folder: it counts from the workspace's folder only.
            # Its folder must be inside; the file itself may be a link, as the python of a venv is.
            folder = name.rpartition("/")[0] or "/"
            if self._places.outside(folder, cwds) is not None or "/../" in f"/{name}":
                return f"{name} may lead out of the workspace"
            if name[0] != "/" and cwds != self._places.roots[:1]:
                return f"{name} may be another file in another folder"
        outside = next((word.text for word in words[1:] if not _stays_inside(word, self._places, git_cwds)), "")
        return outside and f"{outside} may lead out of the workspace"

    def cd_targets(self, rest: list[Word], cwds: Cwds) -> Cwds | None:
        """Return where ``cd`` with the words *rest* leads, or None when it is not free."""
        texts = [word.text for word in rest]
        while texts and texts[0] in ("-P", "-L"):
            texts = texts[1:]
        if texts and texts[0] == "--":
            texts = texts[1:]
        last = rest[-1] if rest else None
        if len(texts) != 1 or last is None or last.glob or last.tilde or last.pwd or last.dynamic:
            return None
        target = texts[0]
        if not target or target.startswith("-") or self._places.outside(target, cwds) is not None:
            return None
        for cwd in cwds:
            # bash keeps the name of a link and takes .. away from it as text; all else follows the link.
            if os.path.normpath(os.path.join(cwd, target)) != self._places.resolve(target, cwd):
                return None
        return tuple(dict.fromkeys(self._places.resolve(target, cwd) for cwd in cwds))

    def follow(self, body: Sequence, cwds: Cwds) -> tuple[Cwds, Cwds]:
        """Note in each command the folders it may run in; return those after success and after failure."""
        succeeded, failed = cwds, cwds
        first = True
        for operator, pipeline in body.items:
            before = (
                cwds
                if first
                else succeeded
                if operator == "&&"
                else failed
                if operator == "||"
                else _union(succeeded, failed)
            )
            after = self._pipeline(pipeline, before)
            if operator == "&&" and not first:
                succeeded, failed = after[0], _union(failed, after[1])
            elif operator == "||" and not first:
                succeeded, failed = _union(succeeded, after[0]), after[1]
            else:
                succeeded, failed = after
            first = False
        return succeeded, failed

    def _pipeline(self, pipeline: Pipeline, cwds: Cwds) -> tuple[Cwds, Cwds]:
        after = (cwds, cwds)
        for command in pipeline.commands:
            if isinstance(command, Group):
                self.follow(command.body, cwds)
                after = (cwds, cwds)
            else:
                after = self._simple(command, cwds)
        if len(pipeline.commands) > 1:
            return cwds, cwds
        return after[::-1] if pipeline.negated else after

    def _simple(self, command: Simple, cwds: Cwds) -> tuple[Cwds, Cwds]:
        command.cwds = cwds
        if command.words and command.words[0].text == "cd":
            targets = self.cd_targets(command.words[1:], cwds) if cwds else None
            return targets or (), cwds
        return cwds, cwds


def _offered(found: Judgement, words: list[Word], texts: list[str], normal: list[str] | None) -> Judgement:
    """Return *found* with what could be granted; *normal* is None when git's global options are not free."""
    if normal is not None and found.rule not in ("guard", "glob"):
        grant = offer(normal)
        if not grant.exact and not any(word.glob and word.text in grant.tokens for word in words):
            return Judgement(False, found.rule, found.reason, grant)
    if any(word.glob for word in words):
        return found  # what a pattern stands for can change, so nothing about it is exact
    return Judgement(False, found.rule, found.reason, CommandGrant(tuple(texts), True))


def _stays_inside(word: Word, places: Places, cwds: Cwds) -> bool:
    """Tell whether *word*, an argument of a command that may be granted, names nothing outside."""
    text = word.text
    if word.pwd or word.dynamic:
        return False
    if text.startswith("-"):
        attached = re.match(_ATTACHED, text)
        value = text.partition("=")[2] or (attached[1] if attached else "")
        if not value:
            # Where the value begins is not known, as in -Cx/../../y.
            return re.search(_CLIMBS, text) is None
        text = value
    elif "=" in text and places.outside(text.partition("=")[2], cwds) is not None:
        return False
    return not text.startswith("~") and places.outside(text, cwds, glob=word.glob) is None


def _key(scope: CommandScope) -> tuple[object, ...]:
    return "judge", scope.cwd, tuple(scope.roots), scope.path, scope.home, scope.git_probe


def _union(one: Cwds, other: Cwds) -> Cwds:
    """Return both; empty (so that all asks) when either is unknown or they are too many."""
    if not one or not other:
        return ()
    both = tuple(dict.fromkeys(one + other))
    return both if len(both) <= _MOST_CWDS else ()


def _located(word: Word) -> Word:
    """Return *word* with ``$PWD`` at its start as ``.``: the same folder, and a path that can be checked."""
    if not word.pwd or not word.text.startswith("$PWD"):
        return word
    located = Word(f".{word.text[4:]}", word.start, word.end)
    located.quoted, located.glob, located.pwd, located.dynamic = word.quoted, word.glob, word.pwd, word.dynamic
    return located


def _expansions(words: list[Word], cwds: Cwds) -> Problem | None:
    """Return what bash would still do to *words* that is not free."""
    name = words[0].text
    for word in words:
        if word.tilde:
            return Problem("tilde", f"{word.text} expands to a home folder")
        if not word.pwd and not word.dynamic:
            continue
        if word.glob and (word.dynamic or not word.text.startswith("$PWD/")):
            return Problem("glob", f"{word.text} is a pattern whose text is not known")
        plain = all(re.fullmatch(_PLAIN_FOLDER, cwd) for cwd in cwds)
        if name in ("test", "[") and word.pwd == "inner":
            return Problem("variable", "$PWD behind other text makes another path of it")
        if name in _SPEAKERS and (plain or name in ("echo", "printf") or word.pwd == "quoted"):
            continue
        split = word.pwd == "inner" or (word.pwd == "bare" and not plain)
        if word.dynamic or split or name not in _PWD_READERS:
            return Problem("variable", "an expansion in a place where its value matters")
        if not word.text.startswith("$PWD") or word.text[4:5] not in ("", "/"):
            return Problem("variable", "$PWD is free at the start of a path only")
    return None
