from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.insights.search_records import MAX_FILTERS, MAX_QUERY, read_beacon, redact

NOW = datetime(2026, 11, 22, 14, 59, 59, tzinfo=UTC)


def beacon(**changed):
    return json.dumps({"query": "rotate keys", "matches": 3, **changed}).encode()


SECRETS = {
    "password=hunter2": "password=[secret]",
    "my api_key: abc": "my api_key: [secret]",
    "Authorization: Bearer abcdef123456": "Authorization: [secret]",
    "Authorization: Basic amFuZQ==": "Authorization: [secret]",
    "-H 'Bearer abcdef-ghijkl'": "-H 'Bearer [secret]'",
    "-H 'Basic amFuZTpwdw=='": "-H 'Basic [secret]'",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a": "[secret]",
    "AKIAIOSFODNN7EXAMPLE": "[secret]",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "[secret]",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi": "[secret]",
    "jane.doe+x@example.co.uk": "[e-mail]",
    "jane%40example.org": "[e-mail]",
    "+49 170 1234567": "[number]",
    "4111 1111 1111 1111": "[number]",
    "06.12.34 2024-10-15 56 78": "[number]",
    "12.34.56.78.90": "[address].90",
    "10.0.0.1": "[address]",
    "192.168.1.20": "[address]",
    "2001:db8::ff00:42:8329": "[address]",
    "2001:db8:0:0:0:ff00:42:8329": "[address]",
    "fe80::1": "[address]",
    "f81d4fae-7dec-11d0-a765-00a0c91e6bf6": "[secret]",
    "d41d8cd98f00b204e9800998ecf8427e": "[secret]",
    "550e8400-e29b-41d4-a716-446655440000": "[secret]",
    "q7w8e9r0t1y2u3i4": "[secret]",
    "-----BEGIN RSA PRIVATE KEY----- MIIE abc -----END RSA PRIVATE KEY-----": "[secret]",
    "sk-proj-abcd1234efgh5678": "[secret]",
    'password="correct horse battery"': "password=[secret]",
    "password='correct horse battery'": "password=[secret]",
    "password => 'correct horse battery'": "password => [secret]",
    'tool --password "correct horse battery"': "tool --password [secret]",
    "tool --password 'correct horse battery'": "tool --password [secret]",
    "GOCSPX-abcdefghij1234": "[secret]",
    "sessionid=abc": "sessionid=[secret]",
    "Cookie: theme=dark; sid=abc; cart=": "Cookie: [secret]",
    'Set-Cookie: sid="a b"; HttpOnly; Path=/': "Set-Cookie: [secret]",
    "Cookie: $Version=1; sid%5B0%5D=abc; app:key=def": "Cookie: [secret]",
    "AccountKey=abc==": "AccountKey=[secret]",
}


@pytest.mark.parametrize(("secret", "stored"), SECRETS.items())
def test_private_text_is_replaced(secret, stored):
    assert redact(f"why does {secret} fail") == f"why does {stored} fail"


def test_a_private_key_without_its_last_line_is_replaced():
    assert redact("it says -----BEGIN PRIVATE KEY-----\nMIIE abc\nabc") == "it says [secret]"


@pytest.mark.parametrize(
    "text",
    [
        "how do I rotate api keys",
        "KeyError: 'user_id'",
        "test_http_server_returns_404",
        "getHTTP2ConnectionPoolManager",
        "AbstractBeanFactoryProviderImplementation",
        "AbstractBeanFactoryProviderConfiguration",  # 40 characters, as the keys of Amazon have
        "guides/kubernetes/v1/namespaces/service1",
        "task-management-of-teams",
        "basic authentication, or a bearer credential",
        "python 3.11.4 install",
        "error 0x80070005 on 2024-10-15",
        "changes of v3.5.10 (2023-04-27) and 4.0 2024-05-06",
        "argoproj.io/v1alpha1",
        "user-guide/best_practices.md",
        "[type=arguments_type, input_value='invalid', input_type=str]",
        "std::vector of bad::cafe_latte",
        "X509CertificateThumbprintSHA256",
        "how to get a token",
        "CVE-2021-44832 and cve-2023-1234567",
        "python 3.10 3.11 3.12",
        "releases/2024-10-01/1.2.md",
    ],
)
def test_words_and_identifiers_stay(text):
    assert redact(text) == text


@pytest.mark.parametrize(
    ("pasted", "stored"),
    [
        ("uv publish --password hunter2 dist/", "uv publish --password [secret] dist/"),
        ("tool --api-token abc", "tool --api-token [secret]"),
        ("tool --token --verbose", "tool --token --verbose"),
        ("what does the --password option do?", "what does the --password option do?"),
        ("disable the --token flag.", "disable the --token flag."),
        ("tool --token flagship", "tool --token [secret]"),
        ("tool --token flag-1", "tool --token [secret]"),
        ("curl -u jane:hunter2 url", "curl -u [secret] url"),
        ("docker run -u 1000 image", "docker run -u 1000 image"),
        ("curl --user jane:hunter2 url", "curl --user [secret] url"),
        ("https://user:pw@host/db", "https://[secret]@host/db"),
        ("postgres://user:p@ss@host/db", "postgres://[secret]@host/db"),
        ('File "/home/jane.doe/app/main.py", line 3', 'File "/home/[name]/app/main.py", line 3'),
        (r"C:\Users\Jane Doe\app.py is missing", r"C:\Users\[name]\app.py is missing"),
        ("guides/home/setup.md", "guides/home/setup.md"),
        ("the folder /Users/jane is gone", "the folder /Users/[name] is gone"),
        ("error in /c/Users/jane/project", "error in /c/Users/[name]/project"),
        ("cd /mnt/c/Users/jane/x", "cd /mnt/c/Users/[name]/x"),
        ("ls /cygdrive/d/Users/jane", "ls /cygdrive/d/Users/[name]"),
        ("ls /var/home/jane", "ls /var/home/[name]"),
        ("//wsl.localhost/Ubuntu/home/jane/a", "//wsl.localhost/Ubuntu/home/[name]/a"),
        (r"\\wsl$\Ubuntu\home\jane\a", r"\\wsl$\Ubuntu\home\[name]\a"),
        ("C:/users/jane/a", "C:/users/[name]/a"),
        ("GET /users/{user_id}/items", "GET /users/{user_id}/items"),
        ("20010203-1234", "[number]"),
        ("born 1985-03-12/1234", "born [number]"),
        ("CVE-0170-1234567", "CVE-[number]"),
        ("call 2024-10-01 555123456", "call [number]"),
    ],
)
def test_pasted_commands_and_paths_keep_no_password_and_no_name(pasted, stored):
    assert redact(pasted) == stored


def test_a_correction_of_a_word_that_was_replaced_is_not_stored():
    sent = {"hunterr": "hunter", "Rotat": "rotate", "late": "later"}
    query = "rotat password=hunterr " + "word " * 60 + "late"
    assert read_beacon(beacon(query=query, corrected=sent)).corrected == {"Rotat": "rotate"}


def test_no_record_has_characters_that_a_terminal_obeys_or_that_nobody_sees():
    hostile = "\x1b[2J\u202eevil\x07\u200b \x00end\x9b"
    found = read_beacon(beacon(query=hostile, filters={hostile: [hostile]}, opened=hostile, rank=1))
    assert found.query == "[2Jevil end"
    assert all(text.isprintable() for text in (found.opened, *found.filters, *found.filters.popitem()[1]))
    assert read_beacon(beacon(query="\u200b\x00\ufeff")) is None
    assert read_beacon(beacon(query="می\u200cخواهم")).query == "می\u200cخواهم"


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


def test_filters_are_stored_up_to_a_length():
    values = ["v" * 200] * 20
    stored = read_beacon(beacon(filters={f"field{number}": values for number in range(20)})).filters
    assert 1000 < sum(len(value) for values in stored.values() for value in values) <= MAX_FILTERS


def test_every_mode_of_the_dialog_is_recorded():
    documented = (Path(__file__).parents[3] / "example-site/docs/reference/widget.md").read_text(encoding="utf-8")
    modes = re.findall(r"^\| `(\w+)` \|", documented.partition("`mode` says what answers")[2], re.MULTILINE)[1:]
    assert {"online", "reserve", "loading", "fallback"} <= set(modes)
    for mode in modes[: modes.index("fallback") + 1]:
        assert read_beacon(beacon(mode=mode)).mode == mode


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
        (
            beacon(mode="other"),
            "mode",
            "mode must be one of online, slow, better, degraded, static, loading, reserve, building or fallback.",
        ),
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
