"""Patterns for paths: what they cover, what they refuse, and that none of them is slow."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from xun_policies.errors import PolicyError
from xun_policies.paths.patterns import PathPatterns

ROOT = "/w"


@pytest.mark.parametrize(
    ("pattern", "covered", "free"),
    [
        ("*.pem", ["a.pem", "a/b/x.PEM", "x.pem/below"], ["a.pemx", "pem"]),
        ("secrets/", ["secrets", "secrets/a", "x/secrets/a/b"], ["secretsx"]),
        ("/secrets", ["secrets/a", "SECRETS"], ["x/secrets"]),
        ("a/b", ["a/b", "a/b/c"], ["x/a/b", "a"]),
        ("a/**", ["a/b", "a/b/c"], ["a"]),
        ("a/**/z", ["a/z", "a/b/c/z", "a/b/c/z/y"], ["a/b", "z"]),
        ("**/z", ["z", "q/z"], ["zz"]),
        ("a/*/c", ["a/b/c"], ["a/b/d/c", "a/c"]),
        ("[a-c]?", ["bx"], ["dx", "b"]),
        ("[!a-c]x", ["dx"], ["bx"]),
        ("[]x]", ["]", "x"], ["["]),
        (r"\*", ["*"], ["a"]),
        ("./docs", ["docs/a", "x/docs"], ["docx"]),
        (".env", [".env", ".env.", ".env::$DATA", "x/.ENV"], [".envrc"]),
    ],
)
def test_what_a_pattern_covers(pattern: str, covered: list[str], free: list[str]) -> None:
    patterns = PathPatterns([pattern])
    assert [path for path in covered if not patterns.covers(f"{ROOT}/{path}", ROOT)] == []
    assert [path for path in free if patterns.covers(f"{ROOT}/{path}", ROOT)] == []


def test_a_slash_at_the_end_means_folders() -> None:
    patterns = PathPatterns(["build/"])
    assert patterns.covers("/w/build", ROOT) and not patterns.covers("/w/build", ROOT, is_folder=False)
    assert patterns.covers("/w/build/a", ROOT, is_folder=False)


def test_a_path_of_the_whole_machine() -> None:
    home = os.path.expanduser("~")
    assert PathPatterns(["/w/secret"]).covers("/w/secret/a", ROOT)
    assert PathPatterns(["~/secret"]).covers(f"{home}/secret/a", home)
    assert not PathPatterns(["*"]).covers(ROOT, ROOT)


def test_a_path_of_the_whole_machine_may_lead_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path.resolve() / "re[a]l"
    real.mkdir()
    (tmp_path / "home").symlink_to(real)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for pattern in ("~/p/secret", "~/p/*ret/", f"{tmp_path}/home/p"):
        assert PathPatterns([pattern]).covers(f"{real}/p/secret/a", f"{real}/p"), pattern
    assert not PathPatterns(["~/p/secret"]).covers(f"{real}/p/other", f"{real}/p")


@pytest.mark.parametrize("text", ["", " ", "/", ".", "!a", "[a", "a/../b", "a\nb", "a\0", "x" * 1001])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(PolicyError, match="pattern"):
        PathPatterns([text])


def test_no_pattern_is_slow() -> None:
    patterns = PathPatterns(["*a" * 400 + "b", "**/" * 200 + "z", "*/" * 200 + "z"])
    begun = time.monotonic()
    assert not patterns.covers("/w/" + "/".join(["a" * 250] * 15), ROOT)
    assert time.monotonic() - begun < 2.0
