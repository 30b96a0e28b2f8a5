"""Files whose names the shell or a program may take for something else, and links, for the oracle of the gate."""

from __future__ import annotations

from pathlib import Path

_ODD_NAMES = (
    "sp ace.txt",
    "new\nline.txt",
    "-n",
    "--help",
    "-rf",
    "-f",
    "-d",
    "--files0-from=a.txt",
    "=eq.txt",
    "a=b",
    "FOO=1",
    "~",
    "~root",
    "#hash",
    ";touch m1",
    "$(touch m2)",
    "`touch m3`",
    "*",
    "?",
    "[ab]",
    "{x,y}",
    "\\",
    "'",
    '"',
    "!",
    "&",
    "|",
    ">m4",
    "<",
    "(",
    ")",
    "\u00e9.txt",
    "%n",
    "%s",
    "@file",
    "localhost",
    "HEAD",
    "main",
    "...",
    "..x",
    "--",
    "-e",
    "+x",
    "1",
    "-1",
    "if",
    "cd",
    "true",
    ":a",
    ":(top)a",
    "\ttab",
    "tr\\ail\\",
    "$PWD",
    "$?",
    "x.y.z",
    "-",
    "a.txt\nb.txt",
    "test",
)


def make_odd(work: Path) -> None:
    """Put files with odd names, folders with odd names and links that stay inside into *work*."""
    for name in _ODD_NAMES:
        (work / name).write_text(f"{name}\nline error\n")
    for name in ("d ir", "=d", "-D", "deep/er/est", "http:", "src/-r"):
        (work / name).mkdir(parents=True, exist_ok=True)
        (work / name / "x.txt").write_text("x\nerror\n")
    for name, target in (
        ("in_link", "a.txt"),
        ("in_dir", "src"),
        ("loop", "loop"),
        ("broken", "nowhere"),
        ("src/up", ".."),
        ("deep/er/est/a", "../../../a.txt"),
    ):
        (work / name).symlink_to(target)


def make_links_out(work: Path) -> None:
    """Put links that lead out of *work* into it, of all kinds: a file, a folder, the parent, behind another link."""
    for name, target in (
        ("out", "../secret.txt"),
        ("outdir", ".."),
        ("src/out.py", "../../secret.txt"),
        ("logs/out.log", str(work.parent / "secret.txt")),
        ("via", "outdir/secret.txt"),
        ("docs/further", "../outdir"),
    ):
        (work / name).symlink_to(target)
