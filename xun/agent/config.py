"""AgentConfig: the limits and habits of one agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from xun.environment.base import Environment
    from xun.models.base import ChatModel
    from xun_policies.audit import AuditTrail


@dataclass(slots=True)
class AgentConfig:
    """Settings of an agent; every limit has a default and is checked before each request.

    Attributes:
        auto_confirm: Answer questions with their default, without asking; writes no grant. A command that
            the risk assessment rejects is refused all the same.
        retry_attempts: Tries of one model request, the first included.
        max_tokens: Tokens of one run, sub-agents included; None for no limit.
        max_cost_usd: US dollars of one run; None for no limit.
        max_seconds: Wall time of one run; None for no limit.
        max_bad_calls: Messages in a row whose calls were all malformed that end the run.
        max_parallel_calls: Tool calls of one message that run at the same time.
        max_output: Characters of one tool result that the model reads; more is cut in the middle.
        schema_attempts: Tries to meet ``execute(schema=)``.
        risk_enabled: Assess unlisted commands before asking.
        risk_model: The model that assesses; None for the agent's own.
        risk_timeout: Seconds for one assessment; after them it counts as failed.
        risk_on_error: What an assessment that failed counts as: unsure, or reject.
        cancel_grace: Seconds that running tools get to end after a cancellation.
        command_output: Characters of each of a command's outputs that the model reads.
        command_env: Names of variables that commands see although they look like secrets.
        environment: Where commands and code run: ``local``, ``sandbox`` or ``sandbox:required``, ``bubblewrap`` or
            ``bubblewrap:network``, ``docker`` or ``docker:IMAGE``, the name of an installed one, or an environment,
            which its owner closes.
        on_ask: chooser: the agent's chooser answers questions; suspend: a question ends the run with the status
            "pending", and ``agent.resume`` goes on with the answer.
        allowed_hosts: Hosts that are fetched from without asking, as ``example.com`` or ``example.com:8080``.
        allow_private_urls: Loopback and private addresses may be fetched from; they are asked about as others are.
        code_mode: The model calls most tools from Python code, by ``run_code``, and sees only the others.
        compact_at_pct: Older messages are summed up once a request would take so much of the model's window, where
            that is known; 0 for never. After a refusal as too long it is done all the same.
        compact_model: The model that sums up; None for the agent's own.
        audit: Where each decision is appended, those of sub-agents too; None for nowhere.
        images_need_vision: To a model that does not say that it takes images, a note goes in the place of each.
        max_equal_steps: Steps in a row with the same calls and the same results after which the person is asked whether
            to go on; longer circles are noticed within 8 steps. 0 for never.
        max_failed_steps: Steps in a row all of whose calls failed after which the person is asked. 0 for never.
        check_writes: The result of a write says when the file does not parse any more (Python, JSON, TOML, YAML), and
            what is new by a language server that runs.
        undo_bytes: Bytes of replaced content that are kept for undo, the oldest of which go first; 0 keeps nothing, and
            then no write can be undone.
        search_engine: The engine of ``web_search``: searxng, serper, brave, tavily or exa; "" for the first that the
            environment has a key or URL for.
        search_url: Where that engine is, or the search URL of a SearXNG server; "" for the engine's own.
        search_key: Its key; "" for that of the environment.
    """

    auto_confirm: bool = False
    retry_attempts: int = 5
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_seconds: float | None = None
    max_bad_calls: int = 3
    max_parallel_calls: int = 8
    max_output: int = 100_000
    schema_attempts: int = 3
    risk_enabled: bool = True
    risk_model: ChatModel | None = None
    risk_timeout: float = 30.0
    risk_on_error: Literal["unsure", "reject"] = "unsure"
    cancel_grace: float = 3.0
    command_output: int = 16_000
    command_env: tuple[str, ...] = ()
    environment: Environment | str = "local"
    on_ask: Literal["chooser", "suspend"] = "chooser"
    allowed_hosts: tuple[str, ...] = ()
    allow_private_urls: bool = False
    code_mode: bool = False
    compact_at_pct: int = 85
    compact_model: ChatModel | None = None
    audit: AuditTrail | None = None
    images_need_vision: bool = False
    max_equal_steps: int = 3
    max_failed_steps: int = 5
    check_writes: bool = True
    undo_bytes: int = 50_000_000
    search_engine: str = ""
    search_url: str = ""
    search_key: str = field(default="", repr=False)
