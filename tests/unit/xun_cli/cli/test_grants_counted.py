"""`/policy show` tells how often a grant was used."""

from __future__ import annotations

from pathlib import Path

from xun import Agent, ToolBox, Workspace
from xun_cli.commands import policy_view


def test_a_grant_that_let_something_happen_is_counted(tmp_path: Path) -> None:
    with Agent(toolbox=ToolBox().with_defaults("cmd", "fs"), workspace=Workspace(tmp_path)) as agent:
        agent.policy.command_allowlist.add(("touch",))
        agent.policy.write_allowlist.add(str(tmp_path), True)

        def shown() -> str:
            return "\n".join(output.plain() for output in policy_view.show(agent.policy))

        assert shown().count("not used yet") == 2
        agent.toolbox.call_tool(agent, "bash", {"command": "touch a.txt && echo x"}, None).unwrap()
        assert "used 1x" in shown() and shown().count("not used yet") == 1
        for text in ("1", "2"):
            agent.toolbox.call_tool(agent, "write_file", {"path": "a.txt", "content": text}, None).unwrap()
        agent.toolbox.call_tool(agent, "write_file", {"path": "new.txt", "content": "no question"}, None).unwrap()
        assert "used 2x" in shown() and "not used yet" not in shown()
        agent.workspace.close()
