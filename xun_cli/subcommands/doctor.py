"""``xun doctor``: what works here, and what would have to change."""

from __future__ import annotations

from dataclasses import asdict

from xun.errors import ConfigError
from xun_cli.diagnosis import Check, diagnose
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.settings import Settings
from xun_cli.subcommands.common import Parser, add_folder, print_json, print_text

_MARKS = {"ok": "ok  ", "warn": "warn", "bad": "BAD "}


def main(argv: list[str]) -> int:
    """Run ``xun doctor`` with the arguments *argv*; exit code 1 when something will not work."""
    from xun_cli.config import load_settings
    from xun_cli.keys import take_credentials

    parser = Parser(prog="xun doctor", description="Look at this machine, the terminal, the settings and the model.")
    add_folder(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON object (default: off)")
    parser.add_argument("--offline", action="store_true", help="do not ask the model's server (default: off)")
    found = parser.parse_args(argv)
    places = Places.from_environment()
    credentials = take_credentials(places)
    options = StartOptions(cwd=found.folder, headless=True)
    broken: list[Check] = []
    try:
        settings = load_settings(places, options)
    except ConfigError as error:
        broken, settings = [Check("settings", "bad", str(error))], Settings()
    if settings.provider.api_key_env:
        credentials.take([settings.provider.api_key_env])
    settings.credentials = credentials
    checks = broken + diagnose(places, settings, options, online=not found.offline and not broken)
    bad = any(check.status == "bad" for check in checks)
    if found.json:
        print_json({"ok": not bad, "checks": [asdict(check) for check in checks]}, indent=2)
    else:
        for check in checks:
            print_text(f"{_MARKS[check.status]}  {check.name}: {' '.join(check.text.split())}")
    return 1 if bad else 0
