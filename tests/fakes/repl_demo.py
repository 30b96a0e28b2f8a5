"""Runs the inline or full-screen front end with a scripted session, for tests on a real terminal.

Usage: repl_demo.py FOLDER [--tui full] [--delay SECONDS] [--model NAME] [--prompt TEXT]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--prompt", default="")
    parser.add_argument("--modules", default="", help="write the names of the modules loaded before the build")
    parser.add_argument("--tui", default="inline")
    parser.add_argument("--crash", action="store_true", help="the session fails with an error of ours")
    args = parser.parse_args()

    from xun_cli.driver import Start, run_front_ends
    from xun_cli.options import StartOptions
    from xun_cli.places import Places
    from xun_cli.settings import Settings

    folder = Path(args.folder)
    sessions: list[int] = []

    def build(options: object = None) -> object:
        if args.modules:
            Path(args.modules).write_text("\n".join(sorted(sys.modules)))
        time.sleep(args.delay)
        from scripted_session import ScriptedSession

        sessions.append(1)
        session = ScriptedSession(folder, model_name=args.model, session_id=f"s{len(sessions)}")
        if args.crash:
            session.history = lambda: 1 / 0  # type: ignore[assignment]
        session.store = object()
        return session

    options = StartOptions(prompt=args.prompt, cwd=folder)
    start = Start(options, Settings(), Places.from_environment(), build, build)  # type: ignore[arg-type]
    return run_front_ends(start, args.tui)


if __name__ == "__main__":
    sys.exit(main())
