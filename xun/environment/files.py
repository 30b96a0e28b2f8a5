"""Files of an environment whose workspace is a folder of this machine, at the same path inside."""

from __future__ import annotations

from xun_policies.workspace import Workspace


class WorkspaceFiles:
    """Reads and writes through the workspace, so that its rules hold for every environment."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def workspace(self) -> str:
        """The working folder."""
        return str(self._workspace.workdir)

    def read_text(self, path: str) -> str:
        """Return a file as UTF-8 text."""
        return self._workspace.read_bytes(path).decode()

    def write_text(self, path: str, content: str) -> None:
        """Put *content* in the place of a file."""
        self._workspace.write_bytes(path, content.encode())

    def resolve_path(self, path: str) -> str:
        """Return *path* as an absolute path without links."""
        return str(self._workspace.resolve(path).path)

    @property
    def _folders(self) -> list[str]:
        """The folders that the user named."""
        return [str(self._workspace.workdir), *map(str, self._workspace.add_dirs)]

    @property
    def _writable(self) -> list[str]:
        """The same and the temporary folder, which is made by this: a mount needs it to be there."""
        return [*self._folders, str(self._workspace.tempdir.path)]
