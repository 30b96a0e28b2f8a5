"""``xun sessions``: list, search, show, export, delete and prune stored sessions."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from xun.errors import XunError
from xun_cli.exit_codes import BAD_CALL
from xun_cli.places import Places, write_private
from xun_cli.session.export import FORMATS, Format, export
from xun_cli.session.store import (
    LoadedSession,
    SessionInfo,
    delete_session,
    find,
    list_sessions,
    read_session,
)
from xun_cli.subcommands.common import Parser, add_folder, fail, parse_words, print_json, print_text

COMMAND = "xun sessions"


def main(argv: list[str]) -> int:
    """Run ``xun sessions`` with the arguments *argv*."""
    parser = Parser(prog=COMMAND, description="The stored sessions of a folder.")
    add_folder(parser)
    commands = parser.add_subparsers(dest="word", metavar="list|search|show|export|delete|prune", parser_class=Parser)
    listing = commands.add_parser("list", help="what there is, the last used first (default)")
    listing.add_argument("--all", action="store_true", help="of every folder (default: off)")
    listing.add_argument("--json", action="store_true", help="as JSON lines (default: off)")
    search = commands.add_parser("search", help="where a text was said, run or named")
    search.add_argument("text", nargs="+", metavar="TEXT")
    search.add_argument("--all", action="store_true", help="of every folder (default: off)")
    search.add_argument("--json", action="store_true", help="as JSON lines (default: off)")
    show = commands.add_parser("show", help="one session as text")
    show.add_argument("id", metavar="ID", help="an id, a name, or the beginning of one")
    show.add_argument("--json", action="store_true", help="its records as JSON (default: off)")
    out = commands.add_parser("export", help="one session as a document")
    out.add_argument("id", metavar="ID")
    out.add_argument("file", nargs="?", default="-", metavar="FILE", help="(default: standard output)")
    out.add_argument("--format", choices=FORMATS, help="(default: by the file's ending, else md)")
    out.add_argument("--redact", action="store_true", help="replace what looks like a secret (default: off)")
    gone = commands.add_parser("delete", help="remove sessions with all that belongs to them")
    gone.add_argument("id", nargs="+", metavar="ID")
    gone.add_argument("--yes", action="store_true", help="do not ask (default: asks)")
    old = commands.add_parser("prune", help="remove sessions that were not used for long")
    old.add_argument("--days", type=int, default=30, metavar="N", help="unused for N days (default: 30)")
    old.add_argument("--all", action="store_true", help="of every folder (default: off)")
    old.add_argument("--yes", action="store_true", help="do not ask (default: asks)")
    found = parse_words(parser, argv, "list")
    try:
        return _COMMANDS[found.word](found, Places.from_environment())
    except XunError as error:
        return fail(COMMAND, error)


def _list(found: Namespace, places: Places) -> int:
    sessions = list_sessions(places, None if found.all else found.folder)
    if found.json:
        for info in sessions:
            print_json(_row(info))
        return 0
    if not sessions:
        print_text("No sessions yet." if found.all else f"No sessions of {found.folder} yet.")
    for info in sessions:
        when = info.updated[:16].replace("T", " ")
        where = f"  {info.cwd}" if found.all else ""
        turns = "1 turn " if info.turns == 1 else f"{info.turns} turns"
        title = f"[{info.name}] {info.first_input}" if info.name else info.first_input
        print_text(" ".join(f"{info.id}  {when}  {turns:>9}{where}  {title}".splitlines())[:160])
    return 0


def _search(found: Namespace, places: Places) -> int:
    from xun_cli.session.searching import MOST_HITS, search_sessions

    hits = search_sessions(list_sessions(places, None if found.all else found.folder), " ".join(found.text))
    for hit in hits:
        if found.json:
            print_json({"id": hit.info.id, "cwd": hit.info.cwd, "turn": hit.turn, "who": hit.who, "text": hit.text})
        else:
            turn = f" turn {hit.turn}" if hit.turn else ""
            print_text(f"{hit.info.id}{turn} {hit.who}: {hit.text}"[:400])
    if len(hits) >= MOST_HITS:
        fail(COMMAND, f"only the first {MOST_HITS} places are shown; search for more words")
    return 0 if hits else 1


def _prune(found: Namespace, places: Places) -> int:
    import time

    if found.days < 1:
        return fail(COMMAND, "--days must be 1 or more", BAD_CALL)
    oldest = time.time() - found.days * 86_400
    infos = [
        info
        for info in list_sessions(places, None if found.all else found.folder)
        if info.path.exists() and info.path.stat().st_mtime < oldest
    ]
    if not infos:
        print_text(f"No session was unused for {found.days} days.")
        return 0
    return _remove(infos, found.yes)


def _row(info: SessionInfo) -> dict[str, object]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in _fields(info)}


def _fields(info: SessionInfo) -> list[tuple[str, object]]:
    return [(name, getattr(info, name)) for name in SessionInfo.__slots__]


def _load(found: Namespace, places: Places, ident: str) -> tuple[SessionInfo, LoadedSession]:
    info = find(places, found.folder, ident)
    loaded = read_session(info.path)
    for text in loaded.dropped:
        fail(COMMAND, f"{info.id}: {text}")
    return info, loaded


def _show(found: Namespace, places: Places) -> int:
    info, loaded = _load(found, places, found.id)
    if found.json:
        for envelope in loaded.envelopes:
            print_json(envelope.to_json())
    else:
        print_text(export(loaded.envelopes, "md", title=info.name))
    return 0


def _export(found: Namespace, places: Places) -> int:
    info, loaded = _load(found, places, found.id)
    ending = Path(found.file).suffix.lstrip(".").lower()
    by_name: dict[str, Format] = {"md": "md", "markdown": "md", "json": "json", "html": "html", "htm": "html"}
    form: Format = found.format or by_name.get(ending, "md")
    text = export(loaded.envelopes, form, title=info.name, redacted=found.redact)
    if found.file == "-":
        if sys.stdout.isatty():
            print_text(text)
        else:
            sys.stdout.write(text)
        return 0
    path = Path(os.path.expanduser(found.file)).absolute()
    try:
        write_private(path, text.encode("utf-8"))
    except OSError as error:
        return fail(COMMAND, f"{path} can't be written: {error.strerror}")
    print_text(f"Wrote {path} ({len(loaded.envelopes)} records).")
    return 0


def _delete(found: Namespace, places: Places) -> int:
    return _remove([find(places, found.folder, ident) for ident in found.id], found.yes)


def _remove(infos: list[SessionInfo], yes: bool) -> int:
    if not yes:
        if not sys.stdin.isatty():
            return fail(COMMAND, "nobody can be asked here; add --yes to delete", BAD_CALL)
        for info in infos:
            print_text(f"{info.id}  {info.turns} turn{'s' * (info.turns != 1)}  {info.first_input[:80]}")
        if input(f"Delete {len(infos)}? It can't be taken back. [y/N] ").strip().lower() not in ("y", "yes"):
            return 1
    for info in infos:
        delete_session(info)
        print_text(f"Deleted {info.id}.")
    return 0


_COMMANDS: dict[str, Callable[[Namespace, Places], int]] = {
    "list": _list,
    "show": _show,
    "export": _export,
    "delete": _delete,
    "search": _search,
    "prune": _prune,
}
