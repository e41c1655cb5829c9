from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.insights.search_records import MAX_QUERY, read_beacon, redact

NOW = datetime(2026, 11, 22, 14, 59, 59, tzinfo=UTC)


def beacon(**changed):
    return json.dumps({"query": "rotate keys", "matches": 3, **changed}).encode()


SECRETS = [
    "password=hunter2",
    "my api_key: abc",
    "Authorization: Bearer abcdef123456",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi",
    "jane.doe+x@example.co.uk",
    "+49 170 1234567",
    "4111 1111 1111 1111",
    "192.168.1.20",
    "2001:db8::ff00:42:8329",
    "550e8400-e29b-41d4-a716-446655440000",
    "user:pw@",
    "d41d8cd98f00b204e9800998ecf8427e",
    "-----BEGIN RSA PRIVATE KEY----- MIIE abc -----END RSA PRIVATE KEY-----",
    "sk-proj-abcd1234efgh5678",
    "06.12.34 2024-10-15 56 78",
    "12.34.56.78.90",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_private_text_is_replaced(secret):
    text = redact(f"why does https://{secret}host fail" if secret.endswith("@") else f"why does {secret} fail")
    assert text.startswith("why does ")
    assert text.endswith(" fail")
    private = secret.removeprefix("password=").removeprefix("my api_key: ").removeprefix("Authorization: Bearer ")
    assert private not in text


@pytest.mark.parametrize(
    "text",
    [
        "how do I rotate api keys",
        "KeyError: 'user_id'",
        "test_http_server_returns_404",
        "getHTTP2ConnectionPoolManager",
        "AbstractBeanFactoryProviderImplementation",
        "python 3.11.4 install",
        "error 0x80070005 on 2024-10-15",
        "changes of v3.5.10 (2023-04-27) and 4.0 2024-05-06",
        "argoproj.io/v1alpha1",
        "user-guide/best_practices.md",
        "[type=arguments_type, input_value='invalid', input_type=str]",
        "std::vector of bad::cafe_latte",
        "X509CertificateThumbprintSHA256",
        "how to get a token",
    ],
)
def test_words_and_identifiers_stay(text):
    assert redact(text) == text


def test_a_record_has_the_hour_and_nothing_finer():
    search = read_beacon(beacon(), site="latest", now=NOW)
    assert (search.hour, search.site, search.query, search.matches) == ("2026-11-22T14", "latest", "rotate keys", 3)


def test_every_text_of_a_record_is_redacted():
    mail = "jane@example.org"
    search = read_beacon(
        beacon(query=f"a {mail}", filters={mail: [mail]}, corrected={mail: mail}, opened=f"guide/{mail}.md", rank=2)
    )
    assert mail not in repr(search)
    assert (search.query, search.filters, search.rank) == ("a [e-mail]", {"[e-mail]": ["[e-mail]"]}, 2)


def test_a_long_text_is_cut_after_it_was_redacted():
    search = read_beacon(beacon(query="word " * 59 + "jane.doe@example.org and more"))
    assert len(search.query) <= MAX_QUERY
    assert "jane" not in search.query


def test_a_search_without_words_needs_a_filter():
    assert read_beacon(beacon(query="  ")) is None
    assert read_beacon(beacon(query="", filters={"tags": ["api"]})).filters == {"tags": ["api"]}


@pytest.mark.parametrize(
    ("body", "field", "sentence"),
    [
        (b"", None, "The body is not valid JSON: EOF while parsing a value at line 1 column 0."),
        (b"[]", None, 'The body must be a JSON object such as {"query": "rotate api keys", "matches": 3, '),
        (b'{"query": "keys"}', "matches", "matches is missing; a valid example is 3."),
        (beacon(address="10.0.0.1"), "address", "Unknown key 'address': allowed are corrected, filters, language, "),
        (beacon(matches="3"), "matches", "matches must be a whole number."),
        (beacon(mode="other"), "mode", "mode must be one of online, slow, better, degraded, static or fallback."),
        (beacon(similarity=1.5), "similarity", "similarity must be at most 1."),
        (beacon(filters=[]), "filters", 'filters must be an object; a valid example is {"tags": ["security"]}.'),
        (beacon(filters={"tags": "x"}), "filters", "filters.tags must be a list; a valid example is "),
        (beacon(filters={"tags": ["x" * 201]}), "filters", "filters.tags[0] is too long: at most 200 characters "),
        (beacon(language="<script>"), "language", "language must have only letters, digits and dashes; a valid "),
    ],
)
def test_anything_else_is_refused_without_repeating_it(body, field, sentence):
    with pytest.raises(QueryError) as caught:
        read_beacon(body)
    assert str(caught.value).startswith(sentence)
    assert caught.value.field == field
    assert "10.0.0.1" not in str(caught.value)
    assert "<script>" not in str(caught.value)
