"""What a repository's own configuration would make git run: read by hand, so that nothing runs."""

from __future__ import annotations

from xun_policies.gitprobe.probe import finding

__all__ = ["finding"]
