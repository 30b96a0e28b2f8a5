"""Skills: folders with a SKILL.md, listed and loaded by a tool (row 51 of the table)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xun import Agent, ToolBox
from xun.errors import ConfigError
from xun.tools.skills import MAX_BYTES


def write(root: Path, name: str, text: str | None = None) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        text or f"---\nname: {name}\ndescription: About {name}.\n---\n\n# How\n---\nDo {name}.\n"
    )
    return folder


def call(box: ToolBox, **arguments: Any) -> Any:
    with Agent(toolbox=box) as agent:
        return box.call_tool(agent, "skill", arguments)


def test_row_51_skills_are_listed_and_loaded(tmp_path: Path):
    folder = write(tmp_path, "release")
    write(tmp_path, "review")
    (tmp_path / "notes").mkdir()
    box = ToolBox().with_skills(tmp_path)
    assert call(box).unwrap() == {
        "skills": [
            {"name": "release", "description": "About release."},
            {"name": "review", "description": "About review."},
        ]
    }
    loaded = {"name": "release", "location": str(folder), "content": "# How\n---\nDo release."}
    assert call(box, name="release").unwrap() == loaded
    assert "- review: About review." in box.list_tools()[0].description
    assert call(ToolBox().with_skills(folder), name="release").unwrap() == loaded


def test_row_51_unknown_and_not_allowed(tmp_path: Path):
    write(tmp_path, "release")
    write(tmp_path, "review")
    box = ToolBox().with_skills(tmp_path, allowed=["review"])
    assert call(box).unwrap()["skills"] == [{"name": "review", "description": "About review."}]
    assert call(box, name="release").unwrap_err().error == (
        "The skill 'release' is not allowed here; the skills are: review."
    )
    assert call(box, name="cook").unwrap_err().error == "There is no skill named 'cook'; the skills are: review."


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("# no head\n", "line 1: a skill begins with ---"),
        ("---\nname: a\n", "line 1: the frontmatter has no end"),
        ("---\nname: a\ndescription: [x\n---\n", "line 3: no valid YAML"),
        ("---\nname: a\n---\n", "line 1: the frontmatter needs description"),
        ("---\nname: a\ndescription: 3\n---\n", "line 3: description must be a text, got 3"),
        ("---\nname: ../a\ndescription: d\n---\n", "line 2: a name is"),
        ("---\n- a\n---\n", "line 2: the frontmatter needs name and description"),
        ("---\nname: a\ndescription: " + "d" * 1025 + "\n---\n", "line 3: the description has 1025 characters"),
        ("---\nname: a\ndescription: d\n---\n" + "x" * MAX_BYTES, f"longer than {MAX_BYTES} bytes"),
    ],
)
def test_a_bad_skill_is_named_with_file_and_line(tmp_path: Path, text: str, error: str):
    path = write(tmp_path, "a", text) / "SKILL.md"
    with pytest.raises(ConfigError) as info:
        ToolBox().with_skills(tmp_path)
    assert str(path) in str(info.value)
    assert error in str(info.value)


def test_links_out_of_the_folder_are_refused(tmp_path: Path):
    outside = write(tmp_path / "elsewhere", "secret")
    skills = tmp_path / "skills"
    write(skills, "good")
    (skills / "bad").symlink_to(outside)
    with pytest.raises(ConfigError, match="a link leads out of"):
        ToolBox().with_skills(skills)


def test_a_link_that_comes_later_is_refused_at_the_load(tmp_path: Path):
    outside = write(tmp_path / "elsewhere", "secret")
    folder = write(tmp_path / "skills", "good")
    box = ToolBox().with_skills(tmp_path / "skills")
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(outside / "SKILL.md")
    assert "a link leads out of" in call(box, name="good").unwrap_err().error


def test_two_of_one_name_and_a_missing_folder(tmp_path: Path):
    write(tmp_path / "one", "a")
    write(tmp_path / "two", "a")
    with pytest.raises(ConfigError, match="there is a skill named 'a' in"):
        ToolBox().with_skills(tmp_path / "one", tmp_path / "two")
    with pytest.raises(ConfigError, match="is not there"):
        ToolBox().with_skills(tmp_path / "none")
