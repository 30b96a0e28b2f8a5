from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xun.models.faults import QUOTE_LIMIT, Endpoint, Secret, redact, refusal, retry_after, server_words, stream_error

KEY = "sk-proj-Zx81kQpLmN0aBcDeFgHiJkLmNoPqRsTuVw9731"
HERE = Endpoint("https://models.example/v1", "m1", "OPENAI_API_KEY", (Secret(KEY), Secret("header-secret-9")))


@given(
    st.lists(
        st.sampled_from(
            [KEY, f"{KEY[:9]}***{KEY[-4:]}", f"***{KEY[-8:]}", "header-secret-9", "x" * 200, " ", "\n", '"', "{"]
        )
        | st.text(max_size=20),
        max_size=30,
    ).map("".join),
    st.sampled_from([301, 400, 401, 402, 403, 404, 413, 418, 422, 429, 500, 503, 529]),
)
@example(" " * 2990 + KEY, 500)
@example("x" * 2990 + KEY, 401)
@settings(max_examples=300, deadline=None)
def test_no_error_text_holds_a_secret(body, status):
    for made in (
        refusal(status, {"location": body}, body, HERE),
        refusal(status, {}, json.dumps({"error": {"message": body}}), HERE),
        stream_error({"error": {"message": body, "code": status}}, HERE),
    ):
        text = str(made)
        assert KEY not in text and KEY[:9] not in text and KEY[-8:] not in text and "header-secret-9" not in text
        assert text.isprintable() and len(text) < 2 * QUOTE_LIMIT + 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "no"}}', "no"),
        ('{"error": "no"}', "no"),
        ('{"message": "no", "code": "bad_thing"}', "no (bad_thing)"),
        ('{"detail": [{"msg": "field required"}]}', "field required"),
        ('[{"error": {"message": "no"}}]', "no"),
        ("{}", ""),
        ("3", ""),
        ("plain\ntext", "plain text"),
        ("<!DOCTYPE html><p>x", "an HTML page"),
        (b"caf\xe9", "caf\ufffd"),
        ("[" * 100_000, "[" * QUOTE_LIMIT + "…"),
        ("", ""),
    ],
)
def test_the_words_of_a_server(body, words):
    assert server_words(body, ()) == words


def test_other_keys_are_masked_too():
    assert redact("used gsk_abcdef123 and Bearer abc.def", ()) == "used [key] and [key]"


def test_a_huge_body_costs_little_time():
    start = time.process_time()
    refusal(500, {}, "x" * 5_000_000, HERE)
    assert time.process_time() - start < 1


def test_a_date_in_retry_after():
    headers = {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}
    assert retry_after(headers, now=784111777 - 30) == 30
    assert retry_after(headers, now=784111777 + 30) == 0


def test_a_secret_is_masked_and_has_a_source_only_when_there_is_one():
    assert (str(Secret(KEY)), repr(Secret(KEY)), f"{Secret(KEY)}") == ("Secret(***)",) * 3
    assert (Secret("", "X").source, Secret("a", "X").source) == ("", "X")
    assert not Secret("") and Secret("a")
