"""Environments: where the commands and the code of an agent run.

`Environment` is the protocol that tools use; names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun.environment.base import CodeFailed as CodeFailed
    from xun.environment.base import Environment as Environment
    from xun.environment.base import EnvironmentUnusable as EnvironmentUnusable
    from xun.environment.base import Process as Process
    from xun.environment.bubblewrap import BubblewrapEnvironment as BubblewrapEnvironment
    from xun.environment.code_host import run_in_process as run_in_process
    from xun.environment.confinement import Confinement as Confinement
    from xun.environment.docker import DockerEnvironment as DockerEnvironment
    from xun.environment.local import LocalEnvironment as LocalEnvironment
    from xun.environment.registry import EnvironmentRegistry as EnvironmentRegistry
    from xun.environment.sandbox import SandboxEnvironment as SandboxEnvironment

_WHERE = {
    "BubblewrapEnvironment": "bubblewrap",
    "CodeFailed": "base",
    "Confinement": "confinement",
    "DockerEnvironment": "docker",
    "Environment": "base",
    "EnvironmentRegistry": "registry",
    "EnvironmentUnusable": "base",
    "LocalEnvironment": "local",
    "Process": "base",
    "SandboxEnvironment": "sandbox",
    "run_in_process": "code_host",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'xun.environment' has no attribute {name!r}")
    return getattr(importlib.import_module(f"xun.environment.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
