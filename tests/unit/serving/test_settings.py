from __future__ import annotations

import re

import pytest

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.admission import RateLimiter, parse_rate
from mkdocs_semsearch.serving.settings import ServerSettings, misspelt_variables, parse_named_index, split_name


def test_without_variables_the_defaults_hold():
    assert ServerSettings.from_environment({}) == ServerSettings()
    assert ServerSettings.from_environment({"SEMSEARCH_DEFAULT_LIMIT": " "}) == ServerSettings()


def test_every_variable_arrives():
    assert ServerSettings.from_environment(
        {
            "SEMSEARCH_INDEX": "/srv/index",
            "SEMSEARCH_DEFAULT_LIMIT": "20",
            "SEMSEARCH_MIN_SCORE": "0.25",
            "SEMSEARCH_CORS_ORIGINS": "https://a.example, https://b.example:8443,",
            "SEMSEARCH_CORS_ORIGIN_REGEX": r"https://.*\.example",
            "SEMSEARCH_RATE_LIMIT": "60/minute",
            "SEMSEARCH_LOG_LEVEL": "WARNING",
            "SEMSEARCH_MCP_HOSTS": "docs.example",
            "SEMSEARCH_INDEXES": "latest=https://docs.example/latest/, old = /srv/old",
            "SEMSEARCH_CLIENT_HEADER": "X-Real-IP",
            "SEMSEARCH_MAX_CONCURRENT": "8",
            "SEMSEARCH_REQUEST_SECONDS": "2.5",
            "SEMSEARCH_TOKEN": "0123456789abcdef",
            "SEMSEARCH_TOKEN_FILE": "/run/secrets/token",
            "SEMSEARCH_LOG_FORMAT": "JSON",
            "SEMSEARCH_LOG_QUERIES": "yes",
            "SEMSEARCH_INSIGHTS": "/var/lib/semsearch",
            "SEMSEARCH_INSIGHTS_DAYS": "30",
            "SEMSEARCH_INSIGHTS_MEGABYTES": "5",
            "PATH": "/bin",
        }
    ) == ServerSettings(
        index="/srv/index",
        default_limit=20,
        min_score=0.25,
        cors_origins=("https://a.example", "https://b.example:8443"),
        cors_origin_regex=r"https://.*\.example",
        rate_limit="60/minute",
        log_level="warning",
        mcp_hosts=("docs.example",),
        indexes=(("latest", "https://docs.example/latest/"), ("old", "/srv/old")),
        client_header="X-Real-IP",
        max_concurrent=8,
        request_seconds=2.5,
        token="0123456789abcdef",
        token_file="/run/secrets/token",
        log_format="json",
        log_queries=True,
        insights="/var/lib/semsearch",
        insights_days=30,
        insights_megabytes=5,
    )


def test_flags_take_precedence_over_the_environment():
    environment = {"SEMSEARCH_INDEX": "a", "SEMSEARCH_DEFAULT_LIMIT": "nonsense", "SEMSEARCH_CORS_ORIGINS": "*"}
    settings = ServerSettings.from_environment(environment, index=None, default_limit=5, cors_origins=())
    assert (settings.index, settings.default_limit, settings.cors_origins) == ("a", 5, ("*",))


@pytest.mark.parametrize("words", [("1", "0"), ("true", "false"), ("yes", "no"), ("on", "off"), ("True", "FALSE")])
def test_a_switch_is_turned_on_and_off_by_the_usual_words(words):
    read = [ServerSettings.from_environment({"SEMSEARCH_LOG_QUERIES": f" {word} "}).log_queries for word in words]
    assert read == [True, False]


def test_a_switch_that_is_not_on_the_command_line_is_read_from_the_environment():
    environment = {"SEMSEARCH_LOG_QUERIES": "yes"}
    assert ServerSettings.from_environment(environment, log_queries=False).log_queries
    assert ServerSettings.from_environment({}, log_queries=True).log_queries


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("SEMSEARCH_DEFAULT_LIMIT", "2.5", "'2.5' is not a whole number."),
        ("SEMSEARCH_DEFAULT_LIMIT", "51", "must be from 1 to 50"),
        ("SEMSEARCH_MIN_SCORE", "nan", "'nan' is not a number."),
        ("SEMSEARCH_MIN_SCORE", "2", "must be from 0 to 1"),
        ("SEMSEARCH_CORS_ORIGINS", "docs.example.org", "write https://docs.example.org without a path"),
        ("SEMSEARCH_CORS_ORIGINS", "https://docs.example.org/", "write https://docs.example.org without a path"),
        ("SEMSEARCH_CORS_ORIGINS", "https://Docs.Example.org", "write https://docs.example.org."),
        ("SEMSEARCH_CORS_ORIGINS", "https://docs.example.org:443", "write https://docs.example.org."),
        ("SEMSEARCH_CORS_ORIGINS", "https://*.example.org", "write https://docs.example.org without a path"),
        ("SEMSEARCH_CORS_ORIGIN_REGEX", "(", "is not a regular expression"),
        ("SEMSEARCH_RATE_LIMIT", "lots", "write 60/minute"),
        ("SEMSEARCH_RATE_LIMIT", "0", "write 60/minute"),
        ("SEMSEARCH_RATE_LIMIT", "5/fortnight", "write 60/minute"),
        ("SEMSEARCH_LOG_LEVEL", "loud", "must be one of debug, info, warning, error"),
        ("SEMSEARCH_LOG_FORMAT", "xml", "must be one of text, json"),
        ("SEMSEARCH_LOG_QUERIES", "maybe", "'maybe' is neither true nor false"),
        ("SEMSEARCH_INSIGHTS_DAYS", "0", "both must be at least 1"),
        ("SEMSEARCH_INSIGHTS_DAYS", "999999", "the days at most 36500"),
        ("SEMSEARCH_INDEXES", "/srv/index", "write latest=/srv/latest/semsearch-index"),
        ("SEMSEARCH_INDEXES", "a=", "The index 'a' has no place: write a=/srv/a/semsearch-index."),
        ("SEMSEARCH_INDEXES", "a= ,b=/srv/b", "The index 'a' has no place"),
        ("SEMSEARCH_INDEXES", "api=/srv/index", "and none of these names"),
        ("SEMSEARCH_CLIENT_HEADER", "X Forwarded", "is not a header name such as X-Forwarded-For"),
        ("SEMSEARCH_MAX_CONCURRENT", "0", "must be at least 1"),
        ("SEMSEARCH_REQUEST_SECONDS", "0", "must be from 0.1 to 3600"),
        ("SEMSEARCH_TOKEN", "short", "use 16 or more"),
    ],
)
def test_a_wrong_value_names_its_variable(variable, value, reason):
    with pytest.raises(ConfigurationError, match=f"^Environment variable {variable}: ") as caught:
        ServerSettings.from_environment({variable: value})
    assert reason in str(caught.value)


def test_a_wrong_flag_is_an_error_too():
    with pytest.raises(ConfigurationError, match="The default limit is 0"):
        ServerSettings.from_environment({}, default_limit=0)


def test_an_index_on_the_command_line_replaces_several_in_the_environment():
    environment = {"SEMSEARCH_INDEXES": "latest=/a,1.0=/b"}
    assert ServerSettings.from_environment(environment).indexes == (("latest", "/a"), ("1.0", "/b"))
    assert ServerSettings.from_environment(environment, index="/c").indexes == ()
    several = ServerSettings.from_environment({"SEMSEARCH_INDEX": "/c"}, indexes=(("a", "/a"),))
    assert several.indexes == (("a", "/a"),)


@pytest.mark.parametrize("name", ["", "api", "mcp", "-", "a b", "../x", ".hidden", "a/b", "x" * 65, "ä"])
def test_index_names_that_cannot_be_in_a_url_are_refused(name):
    with pytest.raises(ConfigurationError, match="The index name"):
        ServerSettings(indexes=((name, "/a"),))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("latest=/srv/index", ("latest", "/srv/index")),
        (" latest = https://h.example/?v=1 ", ("latest", "https://h.example/?v=1")),
        ("https://h.example/?v=1", (None, "https://h.example/?v=1")),
        ("/srv/index", (None, "/srv/index")),
        ("=/srv/index", ("", "/srv/index")),
    ],
)
def test_a_name_before_an_index_is_told_from_the_parameters_of_a_url(text, parts):
    assert split_name(text) == parts
    if not parts[0]:
        with pytest.raises(ConfigurationError, match="has no name"):
            parse_named_index(text)


def test_no_part_of_a_password_is_repeated_for_an_index_without_a_name():
    environment = {"SEMSEARCH_INDEXES": "a=/a,b=http://u:gehe,im,nis@docs.example/"}
    with pytest.raises(ConfigurationError, match=r"One of the indexes has no name: .* as %2C") as listed:
        ServerSettings.from_environment(environment)
    with pytest.raises(ConfigurationError, match=r"'http://docs\.example/' has no name") as single:
        parse_named_index("http://u:gehe/im@docs.example/")
    assert not any(part in f"{listed.value} {single.value}" for part in ("gehe", "im@", "nis@"))


def test_two_indexes_with_one_name_are_refused():
    with pytest.raises(ConfigurationError, match="Two indexes have the name 'a'"):
        ServerSettings(indexes=(("a", "/a"), ("a", "/b")))


def test_variables_that_look_misspelt_are_found():
    misspelt = {
        "SEMSEARCH_RATELIMIT": "SEMSEARCH_RATE_LIMIT",
        "SEMSEARCH_CORS_ORIGIN": "SEMSEARCH_CORS_ORIGINS",
        "SEMSEARCH_ENCODER_THREAD": "SEMSEARCH_ENCODER_THREADS",
    }
    fine = (
        "SEMSEARCH_TOKEN",
        "SEMSEARCH_EMBEDDER_URL",
        "SEMSEARCH_MAX_INDEX_BYTES",
        "SEMSEARCH_SERVICE_HOST",
        "SEMSEARCH_PORT_8765_TCP",
        "PATH",
    )
    assert misspelt_variables(dict.fromkeys((*misspelt, *fine), "x")) == misspelt


TOKEN = "0123456789abcdef"


def test_tokens_come_from_the_environment_and_from_a_file(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"\n{TOKEN}1\n  {TOKEN}2  \n")
    settings = ServerSettings.from_environment({"SEMSEARCH_TOKEN": TOKEN, "SEMSEARCH_TOKEN_FILE": str(file)})
    assert settings.tokens() == (TOKEN, f"{TOKEN}1", f"{TOKEN}2")
    assert TOKEN not in repr(settings)


def test_a_token_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "tokens").write_text(f"{TOKEN}\r\n", encoding="utf-8-sig")
    assert ServerSettings(token_file=str(tmp_path / "tokens")).tokens() == (TOKEN,)


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"short", b"\xff\xfe" * 20, b"with a space in the middle"])
def test_an_unreadable_token_file_is_named(tmp_path, content):
    file = tmp_path / "tokens"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=re.escape(str(file))) as caught:
        ServerSettings(token_file=str(file)).tokens()
    assert "short" not in str(caught.value)
    assert "middle" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("60", (60, 60.0)), ("60/minute", (60, 60.0)), ("5 / s", (5, 1.0)), ("1000/Hour", (1000, 3600.0))],
)
def test_rates(text, rate):
    assert parse_rate(text) == rate


def test_a_bucket_fills_up_again_and_memory_is_bounded():
    now = [0.0]
    limiter = RateLimiter(2, 60, clock=lambda: now[0])
    assert [limiter.wait("a") for _ in range(3)] == [0, 0, 30]
    now[0] = 30
    assert [limiter.wait("a"), limiter.wait("a")] == [0, 30]
    for client in range(20_000):
        assert limiter.wait(str(client)) == 0
    assert len(limiter._buckets) <= 10_000


@pytest.mark.parametrize("host", ["https://search.example.org", "search.example.org:443", "a/b", "::1", "a b", ""])
def test_a_host_that_no_request_can_name_is_refused(host):
    for setting in ("hosts", "mcp_hosts"):
        with pytest.raises(ConfigurationError, match="is not a host name: write it as in search"):
            ServerSettings(**{setting: (host,)})


def test_hosts_may_be_names_and_addresses():
    names = ("search.example.org", "Search.Example.org", "127.0.0.2", "[::1]", "*", "my_host")
    assert ServerSettings(hosts=names).hosts == names
