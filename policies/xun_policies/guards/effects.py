"""What options that are not free do: the clause that a person reads. One that is not here is merely not listed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

_WRITES = "writes a file"
_RUNS = "runs a program"
_READS = "reads a list of files from a file"
_LOADS = "loads code"
_CHANGES = "changes the repository"
_LOGS = {"--output": _WRITES, "--ext-diff": _RUNS, "--textconv": _RUNS, "--show-signature": "runs gpg"}
_BRANCHES = {
    **dict.fromkeys(("-d", "-D", "--delete"), "deletes"),
    **dict.fromkeys(("-m", "-M", "--move"), "renames"),
    **dict.fromkeys(("-f", "--force", "-c", "-C", "--copy", "-u", "--set-upstream-to", "--unset-upstream"), _CHANGES),
    **dict.fromkeys(("-a", "-s", "--edit-description"), _CHANGES),
}
_PYTEST = {
    **dict.fromkeys(("-p", "--pdbcls"), _LOADS),
    **dict.fromkeys(("-c", "-o", "--override-ini", "--rootdir", "--confcutdir"), "changes which settings count"),
    **dict.fromkeys(("--junitxml", "--junit-xml", "--basetemp", "--log-file", "--cov", "--cov-report"), "writes files"),
    **dict.fromkeys(("--pdb", "--trace"), "stops in a debugger"),
    "--pastebin": "sends the output to a server",
}
_TABLE: Mapping[str, Mapping[str, str]] = {
    "awk": {"-f": "reads the program from a file", "-i": _LOADS, "-v": "sets a variable, which is not looked into"},
    "base64": dict.fromkeys(("-o", "--output"), _WRITES),
    "curl": {
        **dict.fromkeys(("-L", "--location"), "follows to other hosts"),
        **dict.fromkeys(("-X", "--request", "-d", "--data", "--json", "-F", "-T"), "sends data or asks for a change"),
        **dict.fromkeys(("-O", "--remote-name", "-D", "-c", "--trace"), _WRITES),
        **dict.fromkeys(("-K", "--config"), "reads options from a file"),
    },
    "date": {**dict.fromkeys(("-s", "--set"), "sets the clock"), **dict.fromkeys(("-f", "--file"), _READS)},
    "fd": dict.fromkeys(("-x", "-X", "--exec", "--exec-batch", "-l"), _RUNS),
    "file": {"-C": _WRITES, "--compile": _WRITES, "-f": _READS, "-z": "runs programs that unpack"},
    "find": {
        **dict.fromkeys(("-exec", "-execdir", "-ok", "-okdir"), _RUNS),
        **dict.fromkeys(("-fprint", "-fprint0", "-fprintf", "-fls"), _WRITES),
        "-delete": "deletes files",
        "-files0-from": _READS,
    },
    "git grep": dict.fromkeys(("-O", "--open-files-in-pager", "--textconv"), _RUNS),
    "git branch": _BRANCHES,
    "git cat-file": dict.fromkeys(("--textconv", "--filters"), _RUNS),
    "git tag": _BRANCHES,
    "hostname": dict.fromkeys(("-F", "-b", "--file", "--boot"), "sets the name of the machine"),
    "journalctl": {
        **dict.fromkeys(("--vacuum-size", "--vacuum-time", "--vacuum-files"), "deletes journals"),
        **dict.fromkeys(("-f", "--follow"), "does not end"),
        **dict.fromkeys(("--rotate", "--flush", "--sync"), "changes journals"),
    },
    "jq": {
        **dict.fromkeys(("-f", "--from-file"), "reads the filter from a file"),
        **dict.fromkeys(("-L", "--library-path"), _LOADS),
        **dict.fromkeys(("--rawfile", "--slurpfile", "--argfile"), "reads a further file"),
    },
    "pytest": _PYTEST,
    "rg": {
        **dict.fromkeys(("--pre", "--hostname-bin"), _RUNS),
        **dict.fromkeys(("-z", "--search-zip"), "runs programs that unpack"),
    },
    "sed": {
        **dict.fromkeys(("-i", "--in-place"), "changes files in place"),
        **dict.fromkeys(("-f", "--file"), "reads the script from a file"),
    },
    "sort": {
        **dict.fromkeys(("-o", "--output"), _WRITES),
        **dict.fromkeys(("-T", "--temporary-directory"), "writes in that folder"),
        "--compress-program": _RUNS,
        "--files0-from": _READS,
    },
    "tree": {"-o": _WRITES, "-R": _WRITES},
    "xxd": {"-r": "writes bytes"},
}
_DIFFERING = frozenset({"git diff", "git log", "git show", "git stash list", "git stash show", "git shortlog"})


@cache
def effects(rule: str) -> Mapping[str, str]:
    """Return what the options do that the rule of that name does not let through, as far as it is told."""
    if rule in _DIFFERING:
        return _LOGS
    return _TABLE.get("pytest" if rule.endswith("pytest") else rule, {})
