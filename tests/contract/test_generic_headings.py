"""Sections of the same name on several pages, in every engine."""

from __future__ import annotations

import pytest

from tests.made_index import made_page

TOOLS = ("tar", "grep", "curl", "mount")
TEXTS = {
    "tar": "Archives are packed with -c and unpacked with -x.",
    "grep": "Lines are counted with -c and inverted with -v.",
    "curl": "Headers are sent with -H and data with -d. See the options of tar and grep too.",
    "mount": "Options of a file system are given with -o. Options depend on the file system.",
}


def pages():
    for tool in TOOLS:
        yield made_page(
            f"{tool}.md",
            f"The command {tool} does its work.",
            TEXTS[tool],
            f"Examples of {tool}.",
            headings=["", "Options", "Examples"],
            title=tool.capitalize(),
        )
    yield made_page("options.md", "Every command has options.", title="About commands")


def best_section(result):
    section = result["sections"][0]
    return result["page"]["title"], section["heading_hierarchy"], section["url"]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("asked", ["{} options", "Options {}", "{} › Options"])
def test_page_tells_sections_of_one_name_apart(opened, tool, asked):
    search = opened(list(pages()))
    first = search(asked.format(tool))["results"][0]
    assert best_section(first) == (tool.capitalize(), [tool.capitalize(), "Options"], f"{tool}/#options")


@pytest.mark.parametrize("asked", ["ShellHistory", "shellhistory", "shell-history", "shell_history", "Shell history"])
def test_a_title_is_found_however_its_words_are_joined(opened, asked):
    pages = [
        made_page("first.md", "ShellHistory and shell history: shell_history.", title="Shells"),
        made_page("history.md", "What was typed before.", title="Shell History"),
    ]
    assert opened(pages)(asked)["results"][0]["page"]["title"] == "Shell History"


@pytest.mark.parametrize("asked", ["custom field", "custom fields", "policies", "policy", "patches", "status"])
def test_a_title_is_found_in_the_other_number(opened, asked):
    pages = [
        made_page(f"{number}.md", text, title=title)
        for number, (title, text) in enumerate(
            {
                "First": "Custom field, custom fields, policy, policies, patch, patches, status.",
                "Custom Fields": "They have types.",
                "Policy": "It has rules.",
                "Patch": "It has lines.",
                "Status": "It is fine.",
            }.items()
        )
    ]
    title = opened(pages)(asked)["results"][0]["page"]["title"]
    assert title.lower()[:5] == asked[:5]


def test_numbers_of_a_version_stay_apart(opened):
    pages = [
        made_page("new.md", "Changes of 1.1.10 and of 1.11.0 and of 1.1.10.", title="1.11.0"),
        made_page("old.md", "Changes.", title="1.1.10"),
    ]
    assert opened(pages)("1.1.10")["results"][0]["page"]["title"] == "1.1.10"


def test_a_title_in_the_number_of_the_question_is_before_its_twin(opened):
    pages = [made_page("one.md", "It is one.", title="Platform"), made_page("more.md", "Many.", title="Platforms")]
    search = opened(pages)
    for asked in ("Platform", "Platforms"):
        assert search(asked)["results"][0]["page"]["title"] == asked


def test_sections_with_the_same_heading_all_match_it(opened):
    found = [best_section(result) for result in opened(list(pages()))("Options")["results"]]
    assert {title for title, headings, _ in found if headings[-1] == "Options"} == {"Tar", "Grep", "Curl", "Mount"}
    assert all(headings[-1] == "Options" for _, headings, _ in found[:4])


@pytest.mark.parametrize(
    ("asked", "first"),
    [("Hetzner", "guide.md"), ("changed in Hetzner", "notes.md"), ("kube-proxy", "proxy.md")],
)
def test_a_heading_of_release_notes_does_not_come_before_the_guide(opened, asked, first):
    pages = [
        made_page(
            "notes.md", "News.", "It runs.", "It is gone.", headings=["", "Hetzner", "kube-proxy"], kind="changelog"
        ),
        made_page("proxy.md", "Leave out kube-proxy to run without it.", title="Without a proxy"),
        made_page("guide.md", "Create a cluster on Hetzner.", title="Getting started on Hetzner"),
        made_page("other.md", "Something else.", title="Other"),
    ]
    assert opened(pages)(asked)["results"][0]["page"]["path"] == first


OTHER = ("Tasks", "Channels", "Environments", "Locks", "Caches", "Shells", "Proxies", "Mirrors", "Builds")


def site_with_a_name():
    """Yields pages that all name the product, most of them not in their headings."""
    yield made_page("setup.md", "A script puts Pixi on your computer.", "Remove it.", headings=["Install", "Uninstall"])
    yield made_page("prefix.md", "Pixi can put packages into any folder.", title="Only install with Pixi in a prefix")
    yield made_page("why.md", "What it is.", title="Pixi")
    for name in OTHER:
        yield made_page(f"{name.lower()}.md", f"Pixi and what it has: {name}.", title=f"{name} for beginners")


@pytest.mark.parametrize(
    ("asked", "heading"),
    [("install pixi", "Install"), ("pixi uninstall", "Uninstall"), ("Pixi mirrors", "Mirrors for beginners")],
)
def test_the_name_of_the_product_says_nothing(opened, asked, heading):
    section = opened(list(site_with_a_name()), site_name="Pixi docs")(asked)["results"][0]["sections"][0]
    assert section["heading_hierarchy"][-1] == heading


def test_only_the_name_of_the_product_asks_for_it(opened):
    assert opened(list(site_with_a_name()), site_name="Pixi docs")("pixi")["results"][0]["page"]["title"] == "Pixi"
