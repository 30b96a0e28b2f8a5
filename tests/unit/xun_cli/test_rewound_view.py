"""A typed /rewind N: what counts no longer is gone from the view, and the answer stands below what is left."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.inline_sheet import inline_sheet
from tests.unit.xun_cli.session.test_rewinding import make
from xun_cli.places import Places
from xun_cli.session.store import SessionStore


async def test_a_typed_rewind_shows_what_is_left(tmp_path: Path) -> None:
    places = Places.from_environment({"XUN_HOME": str(tmp_path / "home")})
    session = make(tmp_path, SessionStore.create(places, tmp_path), [{"text": "reply one"}, {"text": "reply two"}])
    async with inline_sheet(tmp_path, 80, 40, session=session) as sheet:  # type: ignore[arg-type]
        for message, reply in (("first", "reply one"), ("second", "reply two")):
            await sheet.press(f"{message}\r")
            await sheet.shows(reply)
            await sheet.until(lambda: not session.running)
        await sheet.press("/rewind 2\r")
        left = (await sheet.shows("/rewind back takes this back.")).rpartition("/rewind 2")[2]
        assert "reply one" in left and "second" not in left.partition("Back before")[0]
        assert left.index("reply one") < left.index("Back before turn 2") < left.rindex("› second")
        await sheet.press("\x03")
        await sheet.press("/rewind back\r")
        again = (await sheet.shows("counts again")).rpartition("/rewind back")[2]
        assert again.index("reply two") < again.index("counts again")
    await session.close()
