"""The few operations by which a commit changes the disk: the place where tests inject faults."""

from __future__ import annotations

from xun_policies.paths.held import HeldFolder


class Disk:
    """Operations on held folders. A subclass may fail, or end the process, at any of them."""

    def write(
        self, folder: HeldFolder, name: str, data: bytes, mode: int, owner: tuple[int, int] | None = None
    ) -> None:
        """Make the file *name* with *data*, down to the disk, or leave nothing."""
        folder.write_temp(data, mode, name=name, owner=owner)

    def symlink(self, folder: HeldFolder, name: str, target: str) -> None:
        """Make the link *name*."""
        folder.symlink(target, name)

    def replace(self, folder: HeldFolder, source: str, name: str) -> None:
        """Put *source* in the place of *name*."""
        folder.replace(source, name)

    def unlink(self, folder: HeldFolder, name: str) -> None:
        """Remove a file or link."""
        folder.unlink(name)

    def keep(self, folder: HeldFolder, name: str, backup: str) -> None:
        """Give the old file a second name, so that it can be put back whatever the disk has left."""
        folder.link(name, backup)

    def rename(self, folder: HeldFolder, name: str, other: HeldFolder, target: str) -> None:
        """Move *name* to *target* of another folder."""
        folder.move_to(name, other, target)

    def mkdir(self, folder: HeldFolder, name: str, mode: int) -> None:
        """Make a folder."""
        folder.mkdir(name, mode)
