from __future__ import annotations

import inspect

import pytest

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.rate_limit import RateLimiter, parse_rate
from mkdocs_semsearch.serving.settings import ServerSettings


def test_nothing_set_is_the_defaults():
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
    )


def test_flags_win():
    environment = {"SEMSEARCH_INDEX": "a", "SEMSEARCH_DEFAULT_LIMIT": "nonsense", "SEMSEARCH_CORS_ORIGINS": "*"}
    settings = ServerSettings.from_environment(environment, index=None, default_limit=5, cors_origins=())
    assert (settings.index, settings.default_limit, settings.cors_origins) == ("a", 5, ("*",))


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("SEMSEARCH_DEFAULT_LIMIT", "ten", "'ten' is not a number."),
        ("SEMSEARCH_DEFAULT_LIMIT", "51", "must be from 1 to 50"),
        ("SEMSEARCH_MIN_SCORE", "nan", "'nan' is not a number."),
        ("SEMSEARCH_MIN_SCORE", "2", "must be from 0 to 1"),
        ("SEMSEARCH_CORS_ORIGINS", "docs.example.org", "write https://docs.example.org without a path"),
        ("SEMSEARCH_CORS_ORIGINS", "https://docs.example.org/", "write https://docs.example.org without a path"),
        ("SEMSEARCH_CORS_ORIGINS", "https://*.example.org", "write https://docs.example.org without a path"),
        ("SEMSEARCH_CORS_ORIGIN_REGEX", "(", "is not a regular expression"),
        ("SEMSEARCH_RATE_LIMIT", "lots", "write 60/minute"),
        ("SEMSEARCH_RATE_LIMIT", "0", "write 60/minute"),
        ("SEMSEARCH_RATE_LIMIT", "5/fortnight", "write 60/minute"),
        ("SEMSEARCH_LOG_LEVEL", "loud", "must be one of debug, info, warning, error"),
    ],
)
def test_a_wrong_value_names_its_variable(variable, value, reason):
    with pytest.raises(ConfigurationError, match=f"^Environment variable {variable}: ") as caught:
        ServerSettings.from_environment({variable: value})
    assert reason in str(caught.value)


def test_a_wrong_flag_is_an_error_too():
    with pytest.raises(ConfigurationError, match="The default limit is 0"):
        ServerSettings.from_environment({}, default_limit=0)


def test_the_app_takes_what_the_settings_give():
    parameters = inspect.signature(create_app).parameters
    assert set(ServerSettings().app_options()) <= set(parameters)


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
