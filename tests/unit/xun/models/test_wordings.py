"""The words of refusals, vendor by vendor."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from xun.errors import ContextOverflow, ModelAuth, ModelError, ModelRateLimited, ModelReplyInvalid
from xun.models.faults import Endpoint, Secret, refusal, stream_error, whole_words
from xun.models.wordings import asked_wait, named_window

KEY = "sk-a-key-that-nobody-may-see"
WHERE = Endpoint("https://host.example/v1", "the-model", "OPENAI_API_KEY", (Secret(KEY, "OPENAI_API_KEY"),))


def said(status: int, message: str, **more: Any) -> ModelError:
    return refusal(status, {}, json.dumps({"error": {"message": message, **more}}), WHERE)


TOO_LONG = [
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    (400, "Invalid request: Your request exceeded model token limit: 262144"),
    (400, "invalid params, context window exceeds limit (2013)"),
    (400, "Prompt exceeds max length"),
    (400, "Range of input length should be [1, 129024]"),
    (400, "prompt token count of 65000 exceeds the limit of 64000"),
    (400, "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"),
    (500, "Context size has been exceeded."),
    (500, "input is too large to process. increase the physical batch size"),
    (400, "Trying to keep the first 5000 tokens when context the overflows. The model has a context length of 4096"),
    (422, "`inputs` must have less than 4096 tokens. Given: 5000"),
    (400, "Prompt length 5000 is greater than max_seq_len 4096"),
    (400, "The input (12000 tokens) is longer than the model's context length (8192 tokens)."),
    (400, "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576"),
    (400, "Invalid 'messages': array too long. Expected an array with maximum length 2048"),
    (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000"),
    (429, "Request too large for x on tokens per min: Limit 10000, Requested 12000. The tokens must be reduced"),
    (400, "litellm.BadRequestError: " + "the proxy says many words first, " * 20 + "prompt is too long: 3 > 2"),
]


@pytest.mark.parametrize(("status", "words"), TOO_LONG)
def test_too_long_in_the_words_of_vendors(status: int, words: str) -> None:
    error = said(status, words)
    assert isinstance(error, ContextOverflow) and "the-model" in str(error)
    inside = {"error": {"message": words, "code": status}}
    assert isinstance(stream_error(inside, WHERE), ContextOverflow)


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("This model's maximum context length is 8,192 tokens. However, your messages took 9000 tokens", 8192),
        ("prompt is too long: 200001 tokens > 200000 maximum", 200_000),
        (TOO_LONG[2][1], 1_048_576),
        (TOO_LONG[3][1], 32_768),
        (TOO_LONG[4][1], 131_072),
        (TOO_LONG[9][1], 64_000),
        (TOO_LONG[10][1], 4096),
        ("loaded with context length of only 4096 tokens", 4096),
        ("too large for the context, Expected a string with maximum length 1048576", None),
        ("context length: 1", None),
        ("context length: 999999999999999999999", None),
    ],
)
def test_the_window_that_a_refusal_names(words: str, window: int | None) -> None:
    assert named_window(words) == window
    error = said(413, words)
    assert isinstance(error, ContextOverflow) and error.window == window


@pytest.mark.parametrize(
    "words",
    [
        "Invalid 'temperature'",
        "Invalid 'tools': array too long. Expected an array with maximum length 128",
        "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40",
        "Unknown parameter: 'max_tokens'",
        "image exceeds 5 MB maximum",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    ],
)
def test_what_is_not_too_long(words: str) -> None:
    assert said(400, words).kind == "refused"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Model Not Exist"),
        (400, "Invalid model: xyz"),
        (400, "xyz is not a valid model ID"),
        (404, "models/x is not found for API version v1beta"),
        (404, "Anything at all"),
        (400, "The requested model 'x' does not exist."),
    ],
)
def test_an_unknown_model_in_the_words_of_vendors(status: int, words: str) -> None:
    error = said(status, words)
    assert error.kind == "not_found" and f"({status})" in str(error) and "'the-model'" in str(error)
    assert "/model" in str(error) and not error.retryable


@pytest.mark.parametrize(
    "words",
    ["API key not valid. Please pass another.", f"Incorrect API key provided: {KEY}", "invalid_api_key"],
)
def test_a_wrong_key_whatever_the_status(words: str) -> None:
    error = said(400, words)
    assert isinstance(error, ModelAuth) and "OPENAI_API_KEY" in str(error) and KEY not in str(error)


def test_what_is_not_allowed_is_no_wrong_key() -> None:
    error = said(403, "Your input was flagged")
    assert isinstance(error, ModelAuth) and "does not allow this" in str(error) and "flagged" in str(error)


WAITS = [
    ("Please try again in 6m0.5s.", 360.5),
    ("Please try again in 20s", 20),
    ("try again in 898ms", 0.898),
    ('"retryDelay": "34s"', 34),
    ("Please retry in 34.07s.", 34.07),
    ("Please retry after 22 seconds.", 22),
    ("Try again in 1h2m3s", 3723),
    ("wait 5 minutes", 300),
    ("try again in 2 mins 3 secs", 123),
    ("retry in 1 hr", 3600),
    ("retry after 2 more requests", None),
    ("wait 3 months", None),
    ("retry in 5 hops", None),
    ("try again later", None),
    ("Please retry shortly", None),
    ("", None),
]


@pytest.mark.parametrize(("words", "seconds"), WAITS)
def test_a_wait_that_is_asked_for_in_words(words: str, seconds: float | None) -> None:
    assert asked_wait(words) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize("code", ["tool_use_failed", None])
def test_a_call_that_the_server_could_not_read_is_asked_for_again(code: str | None) -> None:
    words = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    error = said(400, words, code=code)
    assert isinstance(error, ModelReplyInvalid) and error.retryable and "Failed to call" in str(error)
    assert isinstance(stream_error({"error": {"message": words, "status_code": 400}}, WHERE), ModelReplyInvalid)


@pytest.mark.parametrize("words", ["Loading model", "Model the-model is currently loading"])
def test_a_model_that_is_loaded_is_waited_for(words: str) -> None:
    error = said(503, words)
    assert error.retryable and error.retry_after == 10
    assert said(503, "no capacity").retry_after is None and said(500, words).retry_after is None
    assert stream_error({"error": {"message": words, "code": 503}}, WHERE).retry_after == 10


def test_a_limit_per_minute_is_waited_for_and_a_quota_is_not() -> None:
    google = {"error": {"message": "You exceeded your current quota, check your plan and billing.", "code": 429}}
    gone = refusal(429, {}, json.dumps(google), WHERE)
    assert isinstance(gone, ModelRateLimited) and not gone.retryable
    google["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    passing = refusal(429, {}, json.dumps([google]), WHERE)
    assert passing.retryable and passing.retry_after == 34 and "34 s" in str(passing)
    assert not said(429, "try again in 5s", code="insufficient_quota").retryable
    assert refusal(429, {"retry-after": "7"}, "try again in 99s", WHERE).retry_after == 7


def test_what_a_router_passes_on() -> None:
    raw = json.dumps({"error": {"message": f"prompt is too long: 3 > 2 {KEY}"}})
    body = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "X"}}
    error = refusal(400, {}, json.dumps({"error": body}), WHERE)
    assert isinstance(error, ContextOverflow) and "Provider returned error: prompt is too long" in str(error)
    assert KEY not in str(error)
    assert whole_words(json.dumps({"error": {**body, "metadata": {"raw": "slow upstream"}}})).endswith(
        ": slow upstream"
    )
    assert whole_words(json.dumps({"error": {**body, "metadata": {"raw": [], "x": 1}}})) == "Provider returned error"


def test_a_refusal_of_any_size_and_depth_costs_little() -> None:
    begun = time.process_time()
    for body in (
        "context " * 400_000,
        "[" * 990 + "]" * 990,
        '{"error":' * 300 + "1" + "}" * 300,
        "1h" * 500_000,
        "messages[1].content" * 9000,
    ):
        for status in (400, 429, 500):
            refusal(status, {}, body, WHERE)
    assert time.process_time() - begun < 1
