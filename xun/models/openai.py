"""OpenAIModel: chat completions of OpenAI and of every server that speaks the same interface.

The only importer of the `openai` package, which costs more than a second: it is loaded at the
first request, or by `OpenAIModel.preload()`. The package's client does the headers and the
connections; the stream is read by our own line parser, which needs a fifth of the time of the
package's chunk objects, and retries are those of `xun.models.retry` alone.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError, ContextOverflow, ModelError, ModelReplyInvalid, ModelUnreachable
from xun.messages import ModelReply
from xun.models.base import ModelEvent, ModelRequest
from xun.models.catalog import first_chat_model, known_limits, model_names
from xun.models.dialect import Dialect
from xun.models.faults import Endpoint, Secret, no_key, redact, refusal, whole_words
from xun.models.reading import AnswerReader, quiet
from xun.models.wire import checked_base_url, host_of, is_loopback, proxy_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_BASE_URL = "https://api.openai.com/v1"
IDLE_SECONDS = 120.0
CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Open:
    client: AsyncOpenAI
    keeper: AsyncGenerator[None, None]


async def _kept(client: AsyncOpenAI) -> AsyncGenerator[None, None]:
    """Close *client* when this generator is closed, which a loop does at its end with those that were begun in it."""
    try:
        yield
    finally:
        await client.close()


class OpenAIModel:
    """A model behind an OpenAI-compatible server.

    One client serves the model's whole life in each event loop that uses it. `aclose` frees its
    connections; without it they go with the loop.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | Secret | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = IDLE_SECONDS,
        capabilities: Iterable[str] | None = None,
        context_window: int | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        """Describe the model; nothing is loaded or sent yet.

        Args:
            name: The model's name; None takes the first chat model that ``/models`` lists.
            base_url: Up to ``/v1``; None reads XUN_BASE_URL or OPENAI_BASE_URL, else OpenAI's own.
            api_key: The key; None reads XUN_API_KEY or OPENAI_API_KEY, "" is for servers that want none. A
                `Secret` also says where it came from, for error texts.
            headers: Sent along with each request.
            timeout: The longest silence of the server, in seconds, counted between events.
            capabilities: What the model takes beyond text; None goes by its name.
            context_window: In tokens; None goes by its name.
            prices: US dollars per million tokens: "input", "output", "cached".

        Raises:
            ConfigError: The base URL is unusable, or plain http to another machine.
        """
        self.base_url = checked_base_url(
            base_url or _environment("XUN_BASE_URL", "OPENAI_BASE_URL") or DEFAULT_BASE_URL
        )
        self._key = api_key if isinstance(api_key, Secret) else _key(api_key)
        self._headers = {key: Secret(value) for key, value in (headers or {}).items()}
        self._timeout = timeout
        self._connect_timeout = min(CONNECT_SECONDS, timeout)
        self._prices = dict(prices) if prices else None
        self._given = (frozenset(capabilities) if capabilities is not None else None, context_window)
        self._asked_name = name
        self._dialect = Dialect()
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Open] = weakref.WeakKeyDictionary()
        self._spare: AsyncOpenAI | None = None
        self._lock = threading.Lock()
        # A lock of its own: it is held for as long as the import takes.
        self._loading = threading.Lock()
        self.name = "auto"
        self._set_name(name or "auto")

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.base_url!r})"

    def preload(self) -> None:
        """Load the `openai` package and make a client; blocks for a second or two, best in a thread."""
        with self._loading:
            if self._spare is None:
                self._spare = self._new_client()

    def with_name(self, name: str) -> OpenAIModel:
        """Return another model of the same server, with the same key; what it can do goes by its name."""
        return OpenAIModel(
            name,
            base_url=self.base_url,
            api_key=self._key,
            headers={key: value.reveal() for key, value in self._headers.items()},
            timeout=self._timeout,
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer *request* as a stream; one try, `xun.models.retry` makes several of it.

        Raises:
            ModelError: One of its subclasses; no text of it holds the key.
        """
        client = await self._client()
        name = await self._named(client)
        where = self._where(name)
        names = {str(tool.get("function", {}).get("name")) for tool in request.tools}
        while True:
            known = tuple(self._dialect.learned)
            body = self._dialect.body(request, name)
            reader = AnswerReader(where, idle=self._timeout, names=names, prices=self._prices)
            failed: ModelError | None = None
            answered = False
            async with aclosing(self._answer(client, body, reader, where)) as events:
                async for event in events:
                    if isinstance(event, ModelError):
                        failed = event
                        break
                    answered = True
                    yield event
            if failed is None:
                return
            learned = not answered and self._dialect.learn(failed.status, reader.said, body, known)
            self._note(failed)
            if not learned:
                missing = failed.kind in ("not_found", "unknown_model")
                # Raised here, outside of every handler: what the package raised holds the request.
                raise await self._with_near_names(failed, client, where) if missing else failed

    async def models(self) -> tuple[str, ...]:
        """Return the names that ``/models`` lists.

        Raises:
            ModelError: The server refused, could not be reached, or sent no list.
        """
        return await self._listed(await self._client())

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request opens new ones."""
        with self._lock:
            opened = self._clients.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.keeper.aclose()

    def _broken(self, exc: Exception, where: Endpoint) -> ModelError:
        if type(exc).__name__ == "ReadTimeout":
            return quiet(where, self._timeout)
        reason = redact(str(exc), where.secrets) or type(exc).__name__
        return ModelUnreachable(f"The connection to {self.base_url} broke in the middle of the answer: {reason}")

    # Clients

    async def _client(self) -> AsyncOpenAI:
        if not self._key and self.base_url == DEFAULT_BASE_URL:
            raise no_key(self._where(""))
        loop = asyncio.get_running_loop()
        opened = self._clients.get(loop)
        if opened is not None:
            return opened.client
        # In a thread, because the import would hold up the loop and with it a cancellation.
        await asyncio.to_thread(self.preload)
        with self._lock:
            for ended in [other for other in self._clients if other.is_closed()]:
                del self._clients[ended]
            if loop not in self._clients:
                client, self._spare = self._spare or self._new_client(), None
                self._clients[loop] = _Open(client, _kept(client))
                fresh = self._clients[loop].keeper
            else:
                fresh = None
            client = self._clients[loop].client
        if fresh is not None:
            await anext(fresh)
        return client

    def _new_client(self) -> AsyncOpenAI:
        import openai

        # Plain http is loopback only: no certificates to load, and no proxy reaches it.
        plain = self.base_url.startswith("http:")
        timeout = openai.Timeout(self._timeout, connect=self._connect_timeout)
        client = openai.AsyncOpenAI(
            api_key=self._key.reveal() or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=timeout,
            default_headers={name: value.reveal() for name, value in self._headers.items()},
            http_client=_transport(timeout, plain),
        )
        # Loads the package's resources, which it does lazily.
        _ = client.chat.completions.with_streaming_response, client.models.with_raw_response
        return client

    def _unkeyed(self) -> dict[str, Any]:
        """Return what takes the header of the key away where there is none."""
        import openai

        own = any(name.lower() == "authorization" for name in self._headers)
        return {} if self._key or own else {"Authorization": openai.Omit()}

    def _where(self, name: str) -> Endpoint:
        return Endpoint(self.base_url, name, self._key.source, (self._key, *self._headers.values()))

    # Names

    def _set_name(self, name: str) -> None:
        self.name = name
        limits = known_limits(name)
        capabilities, window = self._given
        self.capabilities = limits.capabilities if capabilities is None else capabilities
        self.context_window = window or limits.context_window

    async def _named(self, client: AsyncOpenAI) -> str:
        if self._asked_name is None:
            name = first_chat_model(await self._listed(client))
            if name is None:
                raise ModelError(
                    f"{self.base_url} lists no model: load one into the server, or name one with /model or XUN_MODEL",
                    kind="no_model",
                )
            self._asked_name = name
            self._set_name(name)
        return self._asked_name

    async def _listed(self, client: AsyncOpenAI) -> tuple[str, ...]:
        import openai

        where = self._where("")
        error: ModelError
        try:
            async with asyncio.timeout(min(self._timeout, 30.0)):
                answer = await client.models.with_raw_response.list(extra_headers=self._unkeyed())
        except openai.OpenAIError as exc:
            error = self._explained(exc, where)
        except TimeoutError:
            error = quiet(where, min(self._timeout, 30.0))
        else:
            names = model_names(answer.text)
            if names is not None:
                return names
            error = ModelReplyInvalid(f"{self.base_url}/models is no list of models; check base_url", retryable=False)
        raise error

    async def _with_near_names(self, error: ModelError, client: AsyncOpenAI, where: Endpoint) -> ModelError:
        names: tuple[str, ...] = ()
        with suppress(ModelError):
            names = await self._listed(client)
        near = get_close_matches(where.model, names, 3, 0.4) or list(names[:3])
        if not near or where.model in names:
            return error
        text = f"{error}; {self.base_url} has {', '.join(near)}: choose with /model or XUN_MODEL"
        return ModelError(text, kind="unknown_model", status=error.status)

    # Requests

    async def _answer(
        self, client: AsyncOpenAI, body: dict[str, Any], reader: AnswerReader, where: Endpoint
    ) -> AsyncGenerator[ModelEvent | ModelError, None]:
        """Yield what comes back to *body*, and last the error, where there is one."""
        error, managed = await self._begin(client, body, reader, where)
        if error is not None:
            yield error
            return
        manager, response = managed
        try:
            async for event in reader.read(response.iter_bytes()):
                if isinstance(event, ModelReply) and any(call.extra for call in event.tool_calls):
                    self._dialect.saw_extras()
                yield event
        except ModelError as exc:
            error = exc
        except _broken_connections() as exc:
            error = self._broken(exc, where)
        finally:
            await manager.__aexit__(None, None, None)
        if error is not None:
            error.begun = reader.begun
            yield error

    def _note(self, failed: ModelError) -> None:
        """Keep what a refusal tells of the model."""
        if isinstance(failed, ContextOverflow) and not self.context_window:
            self.context_window = failed.window
        if "images" in self._dialect.learned:
            self.capabilities -= {"vision"}

    async def _begin(
        self, client: AsyncOpenAI, body: dict[str, Any], reader: AnswerReader, where: Endpoint
    ) -> tuple[ModelError | None, Any]:
        import openai

        # As an extra body, so that the package does not walk through the whole history to convert it.
        manager = client.chat.completions.with_streaming_response.create(
            model=where.model, messages=[], stream=True, extra_body=body, extra_headers=self._unkeyed()
        )
        try:
            async with asyncio.timeout(self._connect_timeout + self._timeout):
                return None, (manager, await manager.__aenter__())
        except openai.OpenAIError as exc:
            if isinstance(exc, openai.APIStatusError):
                reader.said = whole_words(exc.response.content)
            return self._explained(exc, where), None
        except TimeoutError:
            return quiet(where, self._timeout), None

    def _explained(self, exc: Exception, where: Endpoint) -> ModelError:
        """Say what an exception of the package means; its own text and its request are left behind."""
        import openai

        if isinstance(exc, openai.APIStatusError):
            headers = {name.lower(): value for name, value in exc.response.headers.items()}
            return refusal(exc.status_code, headers, exc.response.content, where)
        cause = type(exc.__cause__).__name__
        if cause in ("ConnectTimeout", "PoolTimeout"):
            text = f"{self.base_url} did not take a connection within {self._connect_timeout:g} s"
            return ModelUnreachable(text)
        if isinstance(exc, openai.APITimeoutError):
            return quiet(where, self._timeout)
        reason = redact(str(exc.__cause__ or exc), where.secrets) or f"the connection was closed ({cause})"
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            hint = "; if the certificate is your own, name its file in SSL_CERT_FILE"
            return ModelUnreachable(f"{self.base_url} is not trusted: {reason}{hint}", retryable=False)
        if "WRONG_VERSION_NUMBER" in reason:
            hint = f"; it seems to speak plain http: {self.base_url.replace('https:', 'http:', 1)}"
            return ModelUnreachable(f"{self.base_url} can't be reached: {reason}{hint}", retryable=False)
        hint = "; is the server running?" if is_loopback(host_of(self.base_url)) else "; check the network and base_url"
        if proxy := proxy_of(self.base_url):
            hint = f"; the environment names the proxy {proxy}: check it, or add the host to NO_PROXY"
        return ModelUnreachable(f"{self.base_url} can't be reached: {reason}{hint}")


def _transport(timeout: Any, plain: bool) -> Any:
    """Return the HTTP client of the `openai` package.

    Raises:
        ConfigError: A proxy or a certificate file that the environment names can't be used.
    """
    import openai

    unusable: tuple[type[Exception], ...] = (OSError, ValueError, _http_package().InvalidURL)
    try:
        return openai.DefaultAsyncHttpxClient(
            follow_redirects=False, timeout=timeout, verify=not plain, trust_env=not plain
        )
    except ImportError:
        reason = "a SOCKS proxy needs the package socksio (pip install socksio)"
    except unusable as exc:
        reason = redact(f"{exc}", ())
    raise ConfigError(
        f"The environment's proxy or certificates can't be used: {reason}; see HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and "
        "SSL_CERT_FILE"
    )


def _key(given: str | None) -> Secret:
    if given is not None:
        return Secret(given.strip(), "the api_key given")
    source = next((name for name in ("XUN_API_KEY", "OPENAI_API_KEY") if os.environ.get(name)), "")
    return Secret(os.environ.get(source, "").strip(), source)


def _environment(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")


def _broken_connections() -> tuple[type[Exception], ...]:
    """Return what the client's transport raises while a body is read.

    The `openai` package changed its transport between major versions; the one that it loaded counts.
    """
    import ssl

    import anyio

    transport = _http_package()
    lost = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, ssl.SSLError, OSError)
    return (transport.HTTPError, transport.StreamError, *lost)


def _http_package() -> Any:
    import sys

    return sys.modules.get("httpx2") or sys.modules["httpx"]
