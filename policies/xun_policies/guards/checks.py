"""Checks that a list of options can't express, by name. Each returns what is not free, or None."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from xun_policies.guards.git import git_config, git_list, git_paths, git_pretty, git_reflog, git_refs, git_remote
from xun_policies.guards.options import NOT_FREE, Call, compiled, walk
from xun_policies.guards.rules import Rule, links_out, operands
from xun_policies.guards.scripts import awk, find, jq, sed
from xun_policies.shell.lexer import Problem, Word
from xun_policies.wordset import wordset

Check = Callable[[Rule, Call], "Problem | None"]

_FILE_TEST = wordset("-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S -nt -ot -ef")
_COUNT_SIGN = re.compile(r"%[^%a-zA-Z]*[hlLjzt]*n")
_HEX_CLUSTER = r"-[A-Za-bd-fh-km-np-rt-z].+"
_HEX_PLAIN = ("-ps", "-plain", "-postscript")
_LOOPBACK = re.compile(
    # Without a scheme curl takes http for these names (curl(1), URL).
    r"(?:(?:https?://)?(?:(?i:localhost)|127\.0\.0\.1)|https?://\[::1\])(?::[0-9]{1,5})?(?:[/?][^@#\\\s]*)?"
)
_FIXED_HOST = r"(?:https?://)?(?:(?i:localhost)|127\.0\.0\.1)(?::[0-9]+)?/"
_PS_VALUE = wordset("-o -O --format --sort -p --pid --ppid -C -u -U -t")
_PS_LETTERS = frozenset("eAafFlLjHTwcyMZNduxrmP")
_PS_LONG = wordset("--forest --no-headers --no-heading --headers --cumulative --deselect")
_PS_BSD = re.compile(r"[acfhjlmnrsuvwxLTSXH]*")
_PS_TEXT = re.compile(r"[A-Za-z0-9_,.=%+:-]+")
_CALL = r"(?<!\w)(?!(?:and|or|not)\s*\()\w+\s*\(|[\])\"'}]\s*\("
"""What calls something in an expression of Python: ``not (a or b)`` does not."""
_PYTEST = (
    "-qvxslh -k: -m: -n% -r?% --lf --last-failed --ff --failed-first --nf --new-first --tb=% --maxfail=# "
    "--durations=# --durations-min=# "
    "--collect-only --co --color=% --no-header --no-summary --strict-markers --disable-warnings --showlocals "
    "--exitfirst --verbose --help --markers --fixtures --setup-show --sw --stepwise --timeout=# --no-cov "
    "--quiet --capture=% --deselect=: --ignore=@"
)


def one_file(rule: Rule, call: Call) -> Problem | None:
    """At most one operand, and no wildcard that could become two: a second one is the output file."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    if rule.name == "base64" and any(len(word.text) > 1 and word.text[0] == "-" for word in found.operands):
        # The -i of another base64 takes the -- for its value.
        return Problem(NOT_FREE, "behind -- an option would be a file's name, or not")
    if found.late and rule.name != "base64":
        # Neither xxd nor the uniq of other systems takes options there.
        return Problem(NOT_FREE, f"{found.late} behind an operand may be the file to write")
    for word in found.operands:
        if word.glob:
            return Problem("glob", f"{word.text} may become two operands, and the second is written")
    if len(found.operands) > 1 and rule.name != "base64":
        return Problem(NOT_FREE, f"the second file, {found.operands[1].text}, would be written")
    return operands(rule, call, found)


def no_at_file(rule: Rule, call: Call) -> Problem | None:
    """``@FILE`` would read options from a file."""
    for word in call.words:
        if word.text.startswith("@"):
            return Problem(NOT_FREE, f"{word.text} reads options from a file")
    found = walk(compiled(rule.options), call)
    return found if isinstance(found, Problem) else operands(rule, call, found)


def tree_of_links(rule: Rule, call: Call) -> Problem | None:
    """diff follows links in the folders that it compares: none below its operands may lead outside."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    problem = operands(rule, call, found)
    if problem is not None or "--no-dereference" in found.options:
        return problem
    named = [found.options[name] for name in ("--from-file", "--to-file") if name in found.options]
    return links_out([*found.operands, *(Word(text, 0, 0) for text in named if text != "-")], call)


def hex_dump(rule: Rule, call: Call) -> Problem | None:
    """One operand; xxd reads the first letter of an option only, and a few long options have one dash."""
    for word in call.words:
        # In -ao 1 the o is not seen, so 1 would be the file to read, and the next operand the one to write.
        if re.fullmatch(_HEX_CLUSTER, word.text) and word.text not in _HEX_PLAIN:
            return Problem(NOT_FREE, f"xxd takes {word.text} for {word.text[:2]} alone")
    words = [_renamed(word, "-p") if word.text in _HEX_PLAIN else word for word in call.words]
    return one_file(rule, call.of(words))


def _renamed(word: Word, text: str) -> Word:
    return Word(text, word.start, word.end)


def text_only(rule: Rule, call: Call) -> Problem | None:
    """Operands are text, dashes included."""
    return None


def printf(rule: Rule, call: Call) -> Problem | None:
    """``-v`` assigns, and may run a substitution in a subscript; ``%n`` assigns as well."""
    words = list(call.words)
    if words and words[0].text == "--":
        words = words[1:]
    elif words and words[0].text.startswith("-"):
        return Problem(NOT_FREE, f"{words[0].text} is an option of printf")
    if words and words[0].glob:
        return Problem("glob", f"the format {words[0].text} is a pattern")
    if words and (_COUNT_SIGN.search(words[0].text) or words[0].pwd):
        return Problem(NOT_FREE, "%n assigns to a variable")
    return None


def test(rule: Rule, call: Call) -> Problem | None:
    """``-v`` and ``-R`` evaluate a subscript; file tests stay inside."""
    tests_files = False
    for word in call.words:
        if word.text in ("-v", "-R"):
            return Problem(NOT_FREE, f"{word.text} evaluates the subscript of a variable")
        if word.glob and word.text.startswith("-"):
            return Problem("glob", f"{word.text} may match a file whose name is an option")
        tests_files = tests_files or word.text in _FILE_TEST
    if tests_files:
        for word in call.words:
            if (
                word.text.startswith("/")
                or ".." in word.text.split("/")
                or (word.text and word.text not in _FILE_TEST and not word.glob)
            ):
                problem = call.path(word.text)
                if problem is not None:
                    return problem
    return None


def date(rule: Rule, call: Call) -> Problem | None:
    """An operand without + sets the clock."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    for word in found.operands:
        if not word.text.startswith("+"):
            return Problem(NOT_FREE, f"the operand {word.text} sets the clock")
    return None


def ps(rule: Rule, call: Call) -> Problem | None:
    """The BSD letter e shows environments; procps reads a faulty option group again as BSD letters."""
    texts = [word.text for word in call.words]
    every = users = False
    index = 0
    while index < len(texts):
        text = texts[index]
        index += 1
        name, equals, value = text.partition("=")
        takes = name in _PS_VALUE
        if text.startswith("-") and not text.startswith("--") and not takes:
            letters = text[1:]
            takes = letters.endswith("o")
            if not letters or not set(letters.removesuffix("o")) <= _PS_LETTERS:
                return Problem(NOT_FREE, f"the option {text} is not on the free list")
            every = every or "e" in letters
            users = users or bool(set(letters) & set("aux"))
        elif not text.startswith("-") and not (text.isdigit() and text.isascii()):
            takes = text[-1:] in ("o", "p", "O")
            if not _PS_BSD.fullmatch(text[:-1] if takes else text):
                return Problem(NOT_FREE, f"{text} may show the environment of processes")
        elif text.startswith("--") and not takes and text not in _PS_LONG:
            return Problem(NOT_FREE, f"the option {text} is not on the free list")
        users = users or name in ("-u", "-U")
        if takes:
            if not equals and index < len(texts):
                value = texts[index]
                index += 1
            if not _PS_TEXT.fullmatch(value) or "env" in value.lower():
                return Problem(NOT_FREE, f"{value} is no plain list of columns or processes")
    return Problem(NOT_FREE, "e among BSD letters shows the environment") if every and users else None


def journal(rule: Rule, call: Call) -> Problem | None:
    """A number may follow -n and -b as a word of its own."""
    kept: list[Word] = []
    previous = ""
    for word in call.words:
        takes = previous in ("--lines", "--boot") or (
            previous[:1] == "-" and previous[1:2] != "-" and previous[-1:] in "nb"
        )
        if not (takes and re.fullmatch(r"-?[0-9]+|all", word.text)):
            kept.append(word)
        previous = word.text
    inner = call.of(kept)
    found = walk(compiled(rule.options), inner)
    return found if isinstance(found, Problem) else operands(rule, inner, found)


def pytest(rule: Rule, call: Call) -> Problem | None:
    """Selection and output only; targets inside."""
    for word in call.words:
        if word.text.startswith("@"):
            return Problem(NOT_FREE, f"{word.text} reads options from a file")
        if word.text == "--":
            # pytest looks for -p before it parses, also behind the end of options.
            return Problem(NOT_FREE, "-- does not end the search for -p")
    found = walk(compiled(_PYTEST), call)
    if isinstance(found, Problem):
        return found
    for name in ("-k", "-m"):
        if re.search(_CALL, found.options.get(name, "")):
            # Before pytest 5.4 the expression was handed to eval().
            return Problem(NOT_FREE, f"the expression of {name} calls something, which an old pytest runs as code")
    for word in found.operands:
        target = word.text.partition("::")[0] or "."
        # pytest takes .. away as text, also behind a link.
        problem = call.path(target, glob=word.glob) or call.path(os.path.normpath(target), glob=word.glob)
        if problem is not None:
            return problem
    return None


def curl(rule: Rule, call: Call) -> Problem | None:
    """One GET or HEAD of a loopback URL, its answer shown or dropped."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    for name in ("-o", "--output"):
        if found.options.get(name, "/dev/null") != "/dev/null":
            return Problem(NOT_FREE, f"{name} writes a file")
    for name in ("-w", "--write-out"):
        value = found.options.get(name, "")
        if "@" in value or "output" in value:
            return Problem(NOT_FREE, f"{name} reads or writes a file")
    if len(found.operands) != 1:
        return Problem(NOT_FREE, "not exactly one URL")
    url = found.operands[0]
    if not _LOOPBACK.fullmatch(url.text):
        return Problem(NOT_FREE, "the host is not loopback")
    if url.glob and not re.match(_FIXED_HOST, url.text):
        scheme = url.text.partition("/")[0]
        if ":/" not in url.text or any(os.path.lexists(f"{cwd}/{scheme}") for cwd in call.cwds):
            return Problem("glob", f"{url.text} is a pattern that may match files, whose names would be URLs")
    return None


CHECKS: dict[str, Check] = {
    "awk": awk,
    "curl": curl,
    "date": date,
    "find": find,
    "git_config": git_config,
    "git_list": git_list,
    "git_paths": git_paths,
    "git_pretty": git_pretty,
    "git_reflog": git_reflog,
    "git_refs": git_refs,
    "git_remote": git_remote,
    "hex_dump": hex_dump,
    "journal": journal,
    "jq": jq,
    "no_at_file": no_at_file,
    "one_file": one_file,
    "printf": printf,
    "ps": ps,
    "pytest": pytest,
    "sed": sed,
    "test": test,
    "text_only": text_only,
    "tree_of_links": tree_of_links,
}
"""Every check by the name that a rule uses."""
