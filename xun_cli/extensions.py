"""What a session has beyond xun itself: hooks, MCP servers, skills; put into it where it is composed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from xun.errors import ConfigError, ToolError
from xun.events import Notice
from xun_cli.mcp_servers import McpServers
from xun_cli.session_hooks import SessionHooks
from xun_cli.toml_file import short

if TYPE_CHECKING:
    from xun.tools.skills import Skill
    from xun.tools.toolbox import ToolBox
    from xun_cli.places import Places
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings

SKILL_TOOL = "skill"
"""The tool that lists and loads skills; it is there when there are any."""


@dataclass(slots=True)
class Extensions:
    """The extensions of one session.

    Attributes:
        hooks: Its hooks.
        servers: Its MCP servers.
        skills: The skills that the model can load, by name.
        problems: One sentence for each thing that could not be used.
    """

    hooks: SessionHooks
    servers: McpServers
    skills: dict[str, Skill] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, settings: Settings, places: Places, box: ToolBox, hooks: SessionHooks, cwd: Path) -> Extensions:
        """Connect the servers and register the skills of *settings* in *box*; with ``--safe`` there are none.

        It blocks until every server is ready or was given up.
        """
        made = cls(hooks, McpServers({} if settings.safe else settings.mcp.servers, box, cwd))
        for state in made.servers.connect():
            made.problems += [state.problem] if state.problem else []
            made.problems += state.left_out
        if not settings.safe:
            made.load_skills(places, box, cwd)
        return made

    def attach(self, session: Session, *, resumed: bool) -> None:
        """Give *session* its extensions, tell what could not be used, and run the hooks of its start; blocks."""
        session.extensions = self
        for problem in self.problems:
            session.emit(Notice(level="warning", text=problem))
        self.hooks.attach(session, resumed=resumed)

    def load_skills(self, places: Places, box: ToolBox, cwd: Path) -> list[str]:
        """Read the skills of the user and, where it is trusted, of the project again; return what was wrong."""
        folders = skill_folders(places, cwd)
        problems: list[str] = []
        self.skills = {}
        for folder in list(folders):
            try:
                self.skills.update(_found(folder, self.skills))
            except ConfigError as exc:
                folders.remove(folder)
                problems.append(f"The skills in {short(folder)} are left out: {exc}")
        box.pop(SKILL_TOOL)
        if self.skills:
            from xun.tools.skills import skill_tool

            box.register(skill_tool(folders, check=lambda folder: _require_trusted(places, cwd, folder)))
        self.problems += [problem for problem in problems if problem not in self.problems]
        return problems


def _found(folder: Path, others: dict[str, Skill]) -> dict[str, Skill]:
    from xun.tools.skills import find_skills

    found = find_skills([folder])
    for name in found:
        if name in others:
            raise ConfigError(f"there is a skill named {name!r} in {short(others[name].folder)} already")
    return found


def _require_trusted(places: Places, cwd: Path, folder: Path) -> None:
    """Return when the skill in *folder* is still what was trusted: files can change while a session runs."""
    from xun_cli.trust import trusted_project

    if not folder.is_relative_to(os.path.realpath(places.config)) and trusted_project(places, cwd) is None:
        raise ToolError(
            f"The skill in {short(folder)} is not loaded: what comes with the project changed since the person trusted "
            "it. It counts again once they have trusted it anew, at the next start."
        )


def skill_folders(places: Places, cwd: Path) -> list[Path]:
    """Return the folders of skills that are used: the user's, and the project's when it is trusted as it is now."""
    from xun_cli.trust import trusted_project

    folders = [places.config / "skills"] if (places.config / "skills").is_dir() else []
    project = trusted_project(places, cwd)
    if project is not None and any(name.startswith("skills/") for name in project.extensions):
        folders.append(Path(project.root) / ".xun" / "skills")
    return folders
