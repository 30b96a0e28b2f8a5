"""A differential oracle for the command gate: what the gate allows is run by the real bash, watched.

The root file system is read-only for the run, there is no network, and PATH holds links to listed
tools only. A finding is any sign that bash did more than the gate understood.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.odd_names import make_links_out, make_odd
from tests.fakes.shell_trace import commands, fits
from xun_policies import defaults
from xun_policies.commands import CommandScope, CommandVerdict, join_words
from xun_policies.guards.options import compiled
from xun_policies.shell.environment import child_environment
from xun_policies.shell.lookup import BUILTINS
from xun_policies.wordset import wordset

Gate = Callable[[str], CommandVerdict]

STUBBED = wordset("curl wget journalctl python python3 pytest pip npm node cargo go rustc gcc make docker fd tree")
_SCRIPTS = frozenset({"egrep", "fgrep", "which", "shasum"})
_EXEC = re.compile(r'execve\("((?:\\x[0-9a-f]{2})*)", \[([^\]]*)\]?.*\) += 0')
_OPEN = re.compile(
    r'(?:openat|open|creat)\(.*?"(?:\\x[0-9a-f]{2})*"(?:, ([A-Z_|0-9]+))?'
    r".*\) += [0-9]+<((?:\\x[0-9a-f]{2})*)>"
)
_CHANGE = re.compile(
    r"(?:unlink(?:at)?|rename(?:at2?)?|mkdir(?:at)?|rmdir|truncate|link(?:at)?|symlink(?:at)?)\(.*\) += 0"
)
_MISREAD = re.compile(
    r"command not found|bash: (?:-c: )?line [0-9]+: (?:syntax error|unexpected EOF)|unexpected EOF while looking"
)
_INET = re.compile(r"socket\(AF_INET6?,")
_TRACE = (
    "execve,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,truncate,link,linkat,"
    "symlink,symlinkat,socket"
)
_FREE_TO_WRITE = ("/dev/null", "/dev/tty")


def missing_parts() -> str:
    """Return what the oracle needs and this machine lacks, "" when it can run."""
    for tool in ("strace", "unshare", "bash", "git"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    try:
        done = subprocess.run(
            ["unshare", "-rnmp", "--fork", "--kill-child=KILL", "true"], capture_output=True, check=False, timeout=20
        )
    except OSError as exc:
        return f"unshare does not run: {exc}"
    return "" if done.returncode == 0 else "user namespaces are off"


@dataclass(frozen=True, slots=True)
class Finding:
    """One command that the gate allowed, and what was seen."""

    command: str
    seen: str


class Oracle:
    """A scratch folder with a repository, a PATH of links and a place for traces.

    Args:
        base: An empty folder.
        odd: Put names into the workspace that the shell or a program may take for something else, and links in it.
        leads_out: Put links there that lead out of the workspace.
        programs: Other programs for listed names, such as those of busybox.
    """

    def __init__(
        self, base: Path, *, odd: bool = False, leads_out: bool = False, programs: Mapping[str, str] | None = None
    ) -> None:
        self.base = base
        self.odd = odd
        self.programs = programs or {}
        self.patience = 6.0
        self.leads_out = leads_out
        self.work = base / "outer" / "ws"
        self.links = base / "links"
        self._log = base / "trace"
        self._said = base / "said"
        self._make_links()
        self._make_tree()
        self._tree = self._digest()
        path = str(self.links)
        self.scope = CommandScope(str(self.work), (str(self.work),), str(base / "home"), path)
        environment = child_environment({"PATH": path, "HOME": str(base / "home"), "LANG": "C.UTF-8", "USER": "dev"})
        self.environment = {**environment, "GIT_CONFIG_NOSYSTEM": "1", "BASH_XTRACEFD": "9"}

    def _make_links(self) -> None:
        self.links.mkdir()
        true = shutil.which("true") or "/bin/true"
        names = {name for name in defaults.rules() if name not in BUILTINS} | {
            tokens[0] for tokens in defaults.versions()
        }
        for name in names:
            found = self.programs.get(name) or (None if name in STUBBED else shutil.which(name))
            (self.links / name).symlink_to(found or true)

    def _make_tree(self) -> None:
        (self.base / "home").mkdir()
        self.work.mkdir(parents=True)
        (self.base / "outer" / "secret.txt").write_text("secret\n")
        for name in ("src/app", "tests", "docs", "build", "my dir", "packages/core", "logs", "assets"):
            (self.work / name).mkdir(parents=True)
        lines = "".join(f"line {number} error foo main TODO\n" for number in range(30))
        for name in (
            "a.txt",
            "b.txt",
            "notes.txt",
            "build.log",
            "names.txt",
            "src/app/main.py",
            "src/app/util.py",
            "src/app.py",
        ):
            (self.work / name).write_text(lines)
        for name in ("README.md", "victim", "config.ini", "Makefile", "tests/test_a.py", "docs/index.md", "logs/x.log"):
            (self.work / name).write_text(f"{name}\nroot:x:0\n")
        (self.work / "data.csv").write_text("a,b,c\n1,2,3\n3,1,2\n")
        (self.work / "package.json").write_text('{"name": "x", "version": "1", "scripts": {"a": "b"}}\n')
        for trap in ("p.sh", "c.sh", "run.sh", "src/p.sh"):
            (self.work / trap).write_text("#!/bin/sh\ntouch canary\n")
            (self.work / trap).chmod(0o755)
        for trap in ("--pre=p.sh", "-om9", "--output=m9", "-i", "-exec", "w m9"):
            (self.work / trap).write_text("x\n")
        if self.odd:
            make_odd(self.work)
        if self.leads_out:
            make_links_out(self.work)
        self._git("init", "-q", "-b", "main")
        self._git("add", "-A", "--", "src", "tests", "a.txt", "README.md", "package.json")
        self._git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
        (self.work / "a.txt").write_text(lines + "changed\n")

    def _git(self, *words: str) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.base / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *words], cwd=self.work, check=True, capture_output=True, env=environment)

    def _digest(self) -> dict[str, object]:
        """Return a mark of each file: no write, and nothing that comes and goes, leaves it as it is."""
        result: dict[str, object] = {}
        for folder, folders, files in os.walk(self.base / "outer"):
            for name in (".", *folders, *files):
                path = os.path.normpath(os.path.join(folder, name))
                if not path.endswith(("ws/.git/index", "ws/.git")):
                    info = os.lstat(path)
                    result[path] = info.st_mode, info.st_ino, info.st_size, info.st_mtime_ns
        return result

    def run(self, verdict: CommandVerdict) -> str:
        """Run the allowed text of *verdict*; return what was seen that should not be, "" for nothing."""
        self._log.unlink(missing_ok=True)
        self._said.write_bytes(b"")
        script = (
            "mount -t proc proc /proc 2>/dev/null\n"
            'mount --bind "$1" "$1" && mount -o remount,ro,bind / && cd "$2" || exit 99\n'
            "log=$4; trace=$3; text=$5; said=$6; shift 6\n"
            'exec strace -f --seccomp-bpf -qq -y -xx -s 9999 -e trace="$trace" -o "$log" env -i "$@" '
            '/bin/bash --noprofile --norc -x -c "$text" 9>"$said"\n'
        )
        pairs = [f"{name}={value}" for name, value in self.environment.items()]
        command = [
            "unshare",
            "-rnmp",
            "--fork",
            "--kill-child=KILL",
            "/bin/sh",
            "-c",
            script,
            "sh",
            str(self.base),
            str(self.work),
            _TRACE,
            str(self._log),
            verdict.text,
            str(self._said),
        ]
        tools = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        try:
            done = subprocess.run(
                [*command, *pairs],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.patience,
                env=tools,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return self._trace(verdict) or self._changed()
        errors = done.stderr.decode("utf-8", "replace")
        if done.returncode == 99:
            raise RuntimeError(f"the sandbox of the oracle did not start: {errors}")
        if _MISREAD.search(errors):
            return f"bash said: {errors.strip()[:200]}"
        return self._trace(verdict) or self._understood(verdict) or self._changed()

    def _understood(self, verdict: CommandVerdict) -> str:
        """Return a command that bash ran with other words than the gate saw, built-in ones included."""
        expected = [segment.argv for segment in verdict.segments if segment.kind == "command"]
        for words in commands(self._said.read_bytes()):
            if not any(fits(words, one) for one in expected):
                return f"bash ran {words}, which the gate did not see"
        return ""

    def _changed(self) -> str:
        now = self._digest()
        if now == self._tree:
            return ""
        different = sorted(name for name in now.keys() | self._tree.keys() if now.get(name) != self._tree.get(name))
        shutil.rmtree(self.base / "outer")
        shutil.rmtree(self.base / "home")
        self._make_tree()
        self._tree = self._digest()
        return f"changed files: {different[:5]}"

    def _trace(self, verdict: CommandVerdict) -> str:
        expected = [segment.argv for segment in verdict.segments if segment.kind == "command"]
        scripts = any(words[0] in _SCRIPTS for words in expected)
        started = 0
        for line in self._log.read_text("utf-8", "replace").splitlines():
            run = _EXEC.search(line)
            if run:
                started += 1
                # The first two are env and bash, which are the oracle's own.
                reason = "" if started <= 2 else self._executed(run, expected, scripts)
                if reason:
                    return reason
            elif started >= 2 and (_CHANGE.search(line) and "\\x2f\\x69\\x6e\\x64\\x65\\x78" not in line):
                return f"changed the file system: {line[:200]}"
            elif started >= 2 and _INET.search(line):
                return "opened a network socket"
            elif started >= 2:
                reason = self._opened(_OPEN.search(line))
                if reason:
                    return reason
        return ""

    def _executed(self, run: re.Match[str], expected: list[tuple[str, ...]], loose: bool) -> str:
        file = _text(run[1])
        if not file.startswith(f"{self.links}/"):
            return f"executed {file}"
        argv = tuple(_text(part) for part in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', run[2]))
        known = loose or any(fits(argv, words) or _run_by_find(argv, words) for words in expected)
        if not known:
            return f"executed {argv}, which the gate did not see"
        return ""

    def _opened(self, opened: re.Match[str] | None) -> str:
        if opened is None:
            return ""
        flags, full = opened[1] or "O_CREAT", _text(opened[2])
        if full.startswith(str(self.base / "outer")) and not full.startswith(str(self.work)):
            return f"opened {full}, outside the workspace"
        writes = any(flag in flags for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"))
        if writes and full not in _FREE_TO_WRITE and not full.endswith((".git/index.lock", "/.git/index")):
            return f"opened {full} for writing"
        return ""


def _run_by_find(argv: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Tell whether *words*, a find, runs *argv* by an -exec: its own words, and names that it found for the {}."""
    if words[0] != "find":
        return False
    for index in (at for at, word in enumerate(words) if word == "-exec"):
        rest = words[index + 1 :]
        inner = rest[: min((at for at, word in enumerate(rest) if word in (";", "+")), default=0)]
        fixed = inner[: inner.index("{}")] if "{}" in inner else inner
        if fits(argv[: len(fixed)], fixed) and not any(word.startswith("-") for word in argv[len(fixed) :]):
            return True
    return False


def _text(escaped: str) -> str:
    return bytes.fromhex(escaped.replace("\\x", "")).decode("utf-8", "surrogateescape")


_FRAGMENTS = (
    "'",
    '"',
    "\\",
    "\n",
    "$",
    "`",
    "{",
    "}",
    ",",
    ";",
    "|",
    "&",
    "&&",
    "||",
    "(",
    ")",
    "<",
    ">",
    "#",
    "*",
    "?",
    "[",
    "]",
    "~",
    "!",
    "=",
    " ",
    "\t",
    "-o m1",
    " -o m2 ",
    "$(touch m3)",
    "`touch m4`",
    ";touch m5",
    "|touch m6",
    "\ntouch m7\n",
    "&touch m8",
    ">m9",
    "2>m10",
    "<(touch m11)",
    "{-i,-e}",
    " -exec touch m12 ;",
    " -delete",
    " -fprint m13",
    " --pre=./p.sh",
    " --output=m14",
    "w m15",
    "e touch m16",
    " ../secret.txt",
    " ./p.sh ",
    " --",
    " -e ",
    " -- ",
    "CI=1 ",
    "cd .. && ",
    "cd src && ",
    "\\\n",
    "$'\\x41'",
    '$"x"',
    "${x}",
    "$?",
    "$PWD",
    "2>&1",
    ">/dev/null",
    "${x@P}",
    " -ni ",
    " -uo m17 ",
    " -x ",
    " *",
    " ?",
    "@(a)",
    "\r",
    "\x0b",
    "\xa0",
    "\u200b",
    "-C .. ",
    "-c core.pager=./p.sh ",
)


def mutants(seeds: Sequence[str], fragments: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """Yield *count* changed forms of *seeds*; words and pieces of *fragments* are mixed in."""
    chance = random.Random(seed)
    pool = [*_FRAGMENTS, *fragments]
    for _ in range(count):
        text = chance.choice(seeds)
        for _ in range(chance.randint(1, 3)):
            text = _mutate(text, chance, pool, seeds)
        yield text


def _mutate(text: str, chance: random.Random, pool: Sequence[str], seeds: Sequence[str]) -> str:
    at = chance.randint(0, len(text))
    kind = chance.randint(0, 6)
    if kind <= 2:
        return text[:at] + chance.choice(pool) + text[at:]
    if kind == 3:
        return text[:at] + text[at + chance.randint(1, 4) :]
    if kind == 4:
        other = chance.choice(seeds)
        return text[:at] + other[chance.randint(0, len(other)) :]
    if kind == 5:
        words = text.split(" ")
        words[chance.randrange(len(words))] = chance.choice(pool)
        return " ".join(words)
    return text + chance.choice((" | ", " && ", "; ", " || ", "\n", " ")) + chance.choice(seeds)


def search(
    oracle: Oracle, gate: Gate, texts: Iterator[str], most: int | None = None, *, first: bool = False
) -> tuple[list[Finding], int, int]:
    """Return the findings, and how many of *texts* were tried and run; with *first* it ends at the first finding."""
    findings: list[Finding] = []
    seen: set[str] = set()
    tried = run = 0
    for text in texts:
        tried += 1
        if text in seen or "\0" in text:
            continue
        seen.add(text)
        verdict = gate(text)
        if not verdict.allowed:
            continue
        run += 1
        reason = oracle.run(verdict)
        if reason:
            findings.append(Finding(text, reason))
        if (most is not None and run >= most) or (first and findings):
            break
    return findings, tried, run


_VALUES = {"#": ("1",), ":": ("x", "a.txt", "../secret.txt"), "!": ("x",), "@": ("a.txt",), "%": ("x",), "": ("",)}
_TAILS = ((), ("a.txt",), ("HEAD",), ("x", "a.txt"), ("a.txt", "b.txt"))


def option_texts() -> list[str]:
    """Return commands that use every free option of every listed tool, with and without operands."""
    texts: dict[str, None] = {}
    for found in defaults.rules().values():
        for rule in found:
            if rule.prefix[0] in STUBBED or rule.free:
                continue
            options = compiled(rule.options)
            for tail in _TAILS:
                texts[join_words([*rule.prefix, *tail])] = None
                for name, kind in options.short.items():
                    for value in _VALUES[kind[-1:]]:
                        words = [f"-{name}{value}"] if kind[:1] in ("", "?") else [f"-{name}", value]
                        texts[join_words([*rule.prefix, *words, *tail])] = None
                for name, kind in options.long.items():
                    for value in _VALUES[kind[-1:]]:
                        word = f"{name}={value}" if kind else name
                        texts[join_words([*rule.prefix, word, *tail])] = None
    return list(texts)
