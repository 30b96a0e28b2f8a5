"""The explanation as people read it: held by snapshots at two widths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xun_policies.commands import CommandScope, evaluate
from xun_policies.explain import _wrapped, columns_of
from xun_policies.store import PolicyState

SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")
SNAPSHOTS = Path(__file__).parents[2] / "snapshots/explanations"

TEXTS = {
    "page": 'git diff --cached | grep "x y" && curl -s http://h > /tmp/o; $(whoami)',
    "here-document": "cat > a.py <<'EOF'\nimport os\nprint(os.getcwd())\nfor i in [1]:\n    print(i)\nEOF\npython a.py",
    "two-here-documents": "cat <<A <<-B\nit's one\nA\n\ttwo $(x)\n\tB\nls",
    "open-here-document": "cat <<EOF\n'\nnever closed",
    "here-string": "grep x <<< 'abc'",
    "loop": 'for f in *.py; do echo "$f"; wc -l < "$f"; done',
    "condition": "if [ -f a ]; then rm a; else touch b; fi",
    "pipeline": "find . -name '*.py' -not -path './env/*' | xargs grep -n 'TODO' | sort | uniq -c | sort -rn | head",
    "several-lines": "ls -la\ncd src\nmake",
    "hidden": "echo hi\u202e x",
    "long-word": "ls " + "a" * 200,
    "redirections": "pip install -r requirements.txt && python -m pytest -q > out.txt 2>&1",
    "subshell": "(cd src && ls) 2>/dev/null",
    "braces": "{ ls; rm x; }",
    "process": "sort <(ls) <(cat b; rm x)",
    "environment": "CI=1 FOO=2 npm test",
    "background": "sleep 100 & ls &",
    "unterminated": "echo 'unterminated",
    "empty": "",
    "wide-letters": "cat docs/日本語のとても長い名前のファイル.md docs/日本語.md | head",
    "quotes": 'grep -n \'a  |  b\' "it\'s; fine" && echo "say \\"hi\\""',
    "chain": "; ".join(["git diff --stat | head -3"] * 100),
    "chain-with-one-that-asks": "; ".join([*["ls -la"] * 25, "rm x", *["pwd"] * 25]),
    "grants": "npm test && git commit -m 'a b' && make lint",
    "comment": "ls # and rm -rf everything\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_explanations_as_people_see_them(name: str) -> None:
    verdict = evaluate(TEXTS[name], PolicyState(), SCOPE)
    for width in (80, 40):
        shown = verdict.explain(width) + "\n"
        assert max(columns_of(line) for line in shown.splitlines()) <= width
        file = SNAPSHOTS / f"{name}-{width}.txt"
        if os.environ.get("XUN_UPDATE_SNAPSHOTS"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(shown, "utf-8")
        assert shown == file.read_text("utf-8")


def test_a_here_document_is_one_row_whatever_it_holds() -> None:
    for body in ("x", "it's", '"', "$(touch m)", "rm x; ls | sh", "EOF x\n EOF", "a\n" * 200):
        rows = evaluate(f"cat <<EOF\n{body}\nEOF\nls", PolicyState(), SCOPE).segments
        assert [segment.text for segment in rows] == ["cat", "<<EOF", "\n", "ls"]
        assert rows[1].reason == f"here-document of {body.count(chr(10)) + 1} line{'s' if chr(10) in body else ''}"
        assert [segment.status for segment in rows] == ["allow", "ask", "ask", "allow"]


TEXT = st.text("ab   日é\u0301-x", max_size=80)


@given(TEXT, st.integers(4, 30), st.sampled_from(["", "  "]))
def test_wrapping_loses_only_blanks_and_keeps_to_the_width(text: str, columns: int, later: str) -> None:
    lines = _wrapped(text, columns, later)
    assert all(columns_of(line.rstrip()) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
