"""vi's keys: a text with a bar for the cursor, the keys, and what comes of them. ``_`` at the end: insert mode."""

from __future__ import annotations

import pytest

from xun_cli.tui.vi import ViKeys


def played(shown: str, keys: str, vi: ViKeys | None = None) -> str:
    """Play *keys* in normal mode; ``<c-r>`` and the like are one key, letters are typed in insert mode."""
    vi = vi or ViKeys()
    vi.mode = "normal"
    at = shown.index("|")
    text = shown.replace("|", "", 1)
    for name in split(keys):
        step = vi.key(name, text, at)
        if step is None:
            assert vi.mode == "insert" and len(name) == 1, f"{name} is left to others"
            text, at = text[:at] + name + text[at:], at + 1
            continue
        assert not step.ask, f"{name} asks for {step.ask}"
        if step.change is not None:
            start, end, new = step.change
            assert 0 <= start <= end <= len(text)
            text = text[:start] + new + text[end:]
        at = step.at
        assert 0 <= at <= len(text)
    return f"{text[:at]}|{text[at:]}{'_' if vi.mode == 'insert' else ''}"


def split(keys: str) -> list[str]:
    names: list[str] = []
    while keys:
        end = keys.find(">") if keys.startswith("<") and ">" in keys[2:] else 0
        names.append(keys[1:end] if end else keys[0])
        keys = keys[end + 1 :]
    return names


MOTIONS = """
one| two => h => on|e two
one| two => 9h => |one two
|one two => l => o|ne two
|one two => 9l => one tw|o
|one two three => w => one |two three
|one two three => 2w => one two |three
one two |three => w => one two thre|e
|a.b c => w => a|.b c
|a.b c => W => a.b |c
one two thr|ee => b => one two |three
one two |three => 2b => |one two three
one a.b| => B => one |a.b
|one two => e => on|e two
on|e two => e => one tw|o
|a.b c => E => a.|b c
one two| => ge => on|e two
a.b c| => gE => a.|b c
one | two => 0 => |one  two
  one| => ^ =>   |one
|one two => $ => one tw|o
one|¶two => j => one¶tw|o
one¶tw|o => k => on|e¶two
longer|¶x¶longer => jj => longer¶x¶longe|r
one¶two¶th|ree => gg => |one¶two¶three
|one¶two¶three => G => one¶two¶|three
|one¶  two¶three => 2G => one¶  |two¶three
|one¶two¶three => 2gg => one¶|two¶three
|abcabc => fc => ab|cabc
|abcabc => 2fc => abcab|c
|abcabc => tc => a|bcabc
|abcabc => tc; => abca|bc
abcab|c => Fa => abc|abc
abcab|c => Ta => abca|bc
|abcabc => fc; => abcab|c
|abcabc => fc;, => ab|cabc
|abcabc => fz => |abcabc
|abc¶c => 2fc => |abc¶c
|(a [b] c) => % => (a [b] c|)
(a [b] c|) => % => |(a [b] c)
x |f(a) => % => x f(a|)
one| => <escape> => left
|one¶¶two => w => one¶|¶two
one¶¶|two => b => one¶|¶two
|你好 世界 => w => 你好 |世界
| => w => |
| => $ => |
| => hlbe0^ => |
one|¶two => l => on|e¶two
|one <space> => 0 => |one <space>
"""

CHANGES = """
|one two => x => |ne two
on|e => x => o|n
|one => 2x => |e
|one => 9x => |
on|e => X => o|e
|one two three => dw => |two three
|one two three => 2dw => |three
|one two three four => d2w => |three four
|one two => d9w => |
one |two¶three => dw => one| ¶three
one| two => de => on|e
|one two => de => | two
one.|two => d$ => one|.
one.|two => D => one|.
one |two => d0 => |two
  on|e => d^ =>   |e
one two| => db => one |o
|one two => dfo => |
|one two => dtt => |two
one two| => dFo => |o
|one¶two => dl => |ne¶two
one|¶two¶three => dd => |two¶three
one¶tw|o => dd => |one
on|e => dd => |
one|¶two¶three => 2dd => |three
one|¶two¶three => d2d => |three
one|¶two¶three => 9dd => |
one|¶two¶three => dj => |three
one¶two¶thr|ee => dk => |one
one¶two|¶three => dgg => |three
one|¶two => dG => |
one|¶two => dj => |
one¶tw|o => dj => one¶tw|o
|one two => cw => | two_
|one two => cwxy<escape>w => xy |two
on|e two => cw => on| two_
one| two => cw => one|two_
|one two three => c2w => | three_
|one two => ce => | two_
|one two => C => |_
|one¶two => cc => |¶two_
one¶t|wo => S => one¶|_
|one => s => |ne_
|one => 2s => |e_
| => s => |_
one|¶two¶three => cj => |¶three_
one t|wo => ciw => one |_
one t|wo three => daw => one |three
one t|wo => daw => on|e
f(a, |b) => ci( => f(|)_
f(a, |b) => dab => |f
f(a, |b) => di) => f(|)
say "on|e" now => ci" => say "|" now_
|say "one" now => di" => say "|" now
{a |b} => yiBP => {a |ba b}
a[|b] => da[ => |a
|one => yyp => one¶|one
|one => yyP => |one¶one
|one => yy2p => one¶|one¶one
|one => Yp => one¶|one
one|¶two => ddp => two¶|one
one¶  tw|o => ddP =>   |two¶one
|one two => ywP => one| one two
|one two => yep => oon|ene two
|one two => dwP => one| two
|ab => xp => b|a
|ab => x3p => baa|a
| => p => |
one¶|two => yk => |one¶two
|one => rx => |xne
|one => 2rx => x|xe
|one => 9rx => |one
o|ne => r<enter> => o¶|e
|one => r<escape> => |one
|one => ix<escape> => |xone
|one => ax<escape> => o|xne
one| => ax<escape> => one|x
  on|e => Ix<escape> =>   |xone
|one => Ax<escape> => one|x
|one¶two => ox<escape> => one¶|x¶two
|one => ox<escape> => one¶|x
one¶|two => Ox<escape> => one¶|x¶two
|one¶  two => J => one| two
|one¶two¶three => 3J => one two| three
|one => J => |one
|one => ~ => O|ne
|one => 9~ => ON|E
|one two => d<escape>w => one |two
|one two => 3<escape>x => |ne two
|one two => dz => |one two
|one two => gz => |one two
|ab¶¶cd => jdd => ab¶|cd
¶|ab => d$ => ¶|
|¶ab => d$ => |¶ab
|¶ab => x => |¶ab
aa你|b => b => aa|你b
one¶|two => db => |two
|one => <delete> => |ne
on|e => <backspace> => o|ne
|one => <right><left><right> => o|ne
one|¶two => d<down> => |
one |two => d<home> => |two
|one two => d<end> => |
|one two => <end> => one tw|o
one tw|o => <home> => |one two
"""


def rows(table: str) -> list[tuple[str, str, str]]:
    found = []
    for line in table.strip("\n").split("\n"):
        before, keys, after = line.replace("¶", "\n").split(" => ")
        found.append((before, keys.strip(), after))
    return found


@pytest.mark.parametrize(("before", "keys", "after"), rows(MOTIONS) + rows(CHANGES))
def test_a_row(before: str, keys: str, after: str) -> None:
    if after == "left":
        vi = ViKeys()
        vi.mode = "normal"
        assert vi.key("escape", before, 0) is None, "nothing is begun: Esc interrupts"
    else:
        assert played(before, keys) == after


def test_insert_mode_takes_escape_alone_and_goes_one_back() -> None:
    vi = ViKeys()
    assert [vi.key(name, "one\ntwo", 5) for name in ("x", "enter", "c-r", "left")] == [None] * 4
    step = vi.key("escape", "one\ntwo", 5)
    assert step is not None and step.at == 4 and vi.mode == "normal"
    vi.begin()
    step = vi.key("escape", "one\ntwo", 4)
    assert step is not None and step.at == 4, "not into the line before"


@pytest.mark.parametrize(
    ("keys", "ask", "times"),
    [
        ("u", "undo", 1),
        ("3u", "undo", 3),
        ("<c-r>", "redo", 1),
        ("k", "earlier", 1),
        ("2j", "later", 2),
        ("/", "search", 1),
    ],
)
def test_what_others_have_to_do_is_asked_for(keys: str, ask: str, times: int) -> None:
    vi = ViKeys()
    vi.mode = "normal"
    steps = [vi.key(name, "one", 1) for name in split(keys)]
    last = steps[-1]
    assert last is not None and (last.ask, last.times, last.change) == (ask, times, None)
    assert not vi.pending


def test_keys_of_others_are_left_and_forget_what_was_begun() -> None:
    vi = ViKeys()
    vi.mode = "normal"
    vi.key("d", "one two", 0)
    assert vi.pending and vi.key("pageup", "one two", 0) is None and not vi.pending
    assert vi.key("c-x", "one", 0) is None and vi.key("tab", "one", 0) is None
    assert vi.key("home", "one", 0) is None and vi.key("end", "one", 2) is None, "they scroll then"


def test_a_huge_count_does_no_harm() -> None:
    vi = ViKeys()
    shown = played("|ab", "yy" + "9" * 40 + "p", vi)
    assert len(shown) < 60_000
    assert played("|ab cd", "9" * 40 + "w", vi) == "ab c|d"
