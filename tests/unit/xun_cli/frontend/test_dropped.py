"""Which pastes are the path of a dropped image."""

from __future__ import annotations

from pathlib import Path

import pytest

from xun_cli.frontend.dropped import dropped_image


@pytest.mark.parametrize("form", ["{}", "{} ", "'{}'", '"{}"', "file://{}"])
def test_one_path_of_an_image_in_any_form_a_terminal_gives(tmp_path: Path, form: str) -> None:
    image = tmp_path / "my shot.PNG"
    image.write_bytes(b"x")
    assert dropped_image(form.format(image)) == image
    assert dropped_image(str(image).replace(" ", "\\ ")) == image
    assert dropped_image(image.as_uri()) == image


def test_other_text_stays_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    (tmp_path / "a.txt").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    others = (
        f"{tmp_path}/a.txt",
        f"{tmp_path}/b.png",
        "a.png",
        f"look at {tmp_path}/a.png",
        f"{tmp_path}/a.png\nmore.png",
    )
    assert [text for text in (*others, "", "/" * 5000 + ".png", "'/x.png", str(tmp_path)) if dropped_image(text)] == []
