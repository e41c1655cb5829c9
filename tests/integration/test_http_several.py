"""Several indexes in one sidecar: each under its name, all of them together at the root."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections import Counter

import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.searching.ranking import SEMANTIC_WEIGHT
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.live_index import LiveIndex
from tests.made_index import built, made_page
from tests.unit.serving.small_index import DeadEmbedder, build, open_small
from tests.word_hash import WordHashEmbedder

COOKING = (
    made_page("soup.md", "Boil water for the soup, add onions and salt.", "Serve the soup hot.", facets={}),
    made_page("bread.md", "Bread needs flour, water and yeast. The keys of an oven are hot.", facets={}),
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("several")
    built(root / "cooking", COOKING, site_url="https://cooking.example/")
    build(root / "manual")
    return root


def sources(folders, *names):
    return {name: LiveIndex(folders / name, open_index=open_small) for name in names}


@pytest.fixture(scope="module")
def client(folders):
    with TestClient(create_app(sources(folders, "manual", "cooking")), base_url="http://localhost") as opened:
        yield opened


@pytest.mark.parametrize("base", ["", "/-/semsearch"])
def test_every_index_answers_under_its_name(client, base):
    assert client.get(f"{base}/manual/readyz").json()["pages"] == 4
    assert client.get(f"{base}/cooking/readyz").json()["pages"] == 2
    assert client.get(f"{base}/cooking/healthz").status_code == 200
    soup = client.get(f"{base}/cooking/api/v1/search?q=soup").json()
    assert {result["page"]["path"] for result in soup["results"]} == {"soup.md"}
    assert soup["total_results"] + soup["weaker_results"] == 3
    keys = client.post(f"{base}/manual/api/v1/search", json={"query": "keys"}).json()
    assert keys["total_results"] + keys["weaker_results"] == 6
    assert client.get(f"{base}/manual/api/v1/facets").json()["facets"][0]["name"] == "tags"
    assert client.get(f"{base}/manual/api/v1/pages/guide/auth.md").json()["page"]["title"] == "Über Auth"
    assert client.get(f"{base}/manual/api/v1/related/guide/auth.md").json()["results"]
    assert client.get(f"{base}/manual/openapi.json").status_code == 200
    assert client.get(f"{base}/cooking/api/v1/pages/guide/auth.md").status_code == 404
    assert client.get(f"{base}/nobody/api/v1/search?q=soup").status_code == 404


def test_listed_pages_of_several_indexes_are_one_list(tmp_path):
    for name, days, earlier in (("one", (1, 5, 9), []), ("two", (3, 7), ["2020-01-01"])):
        dates = {day: f"2026-01-{day:02}" for day in days}
        pages = [
            made_page(
                f"{day}.md",
                "Text.",
                front_matter={"date": [date, *earlier] if earlier else date},
                dated=datetime.date(2025, 1, 20 - day),
            )
            for day, date in dates.items()
        ]
        built(tmp_path / name, pages)
    with TestClient(create_app(sources(tmp_path, "one", "two")), base_url="http://localhost") as client:
        asked = "/api/v1/search?f.page.path.exists=true"
        listed, second, changed = (
            client.get(f"{asked}{more}").json() for more in ("", "&limit=2&offset=2", "&sort=newest")
        )
    paths = [result["page"]["path"] for result in listed["results"]]
    assert (listed["mode"], listed["total_results"], paths) == ("browse", 5, ["9.md", "7.md", "5.md", "3.md", "1.md"])
    assert [result["page"]["path"] for result in second["results"]] == paths[2:4]
    assert [result["page"]["path"] for result in changed["results"]] == paths[::-1]


def test_at_the_root_all_answer_together(client):
    body = client.get("/api/v1/search?q=keys&limit=50&include_weak=true").json()
    assert body["total_results"] + body["weaker_results"] == len(body["results"]) == 9
    totals = {
        name: client.get(f"/{name}/api/v1/search?q=keys").json()["total_results"] for name in ("manual", "cooking")
    }
    assert body["total_results"] == sum(totals.values())
    assert [(part["name"], part["total_results"], part["site_url"]) for part in body["indexes"]] == [
        ("manual", totals["manual"], ""),
        ("cooking", totals["cooking"], "https://cooking.example/"),
    ]
    assert body["weaker_results"] > 0
    weak = [result.get("weak", False) for result in body["results"]]
    assert weak == sorted(weak)
    assert weak.count(False) == body["total_results"]
    assert {result["index"] for result in body["results"]} == {"manual", "cooking"}
    scores = [result["score"] for result in body["results"]]
    assert scores == sorted(scores, reverse=True)
    for name in ("manual", "cooking"):
        own = client.get(f"/{name}/api/v1/search?q=keys&limit=50&include_weak=true").json()["results"]
        merged = [result for result in body["results"] if result["index"] == name]
        assert [r["section"]["chunk_id"] for r in merged] == [r["section"]["chunk_id"] for r in own]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_an_index_without_evidence_is_not_first(client, mode, granularity):
    for question, name in (("onions in the soup", "cooking"), ("restore a backup", "manual")):
        given = {"query": question, "mode": mode, "granularity": granularity}
        results = client.post("/api/v1/search", json=given).json()["results"]
        assert results[0]["index"] == name, question
        assert results[0]["score"] <= 1


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_min_score_is_the_lowest_score_of_the_whole_answer(client, mode):
    asked = f"/api/v1/search?q=keys+oven&limit=50&mode={mode}"
    scores = [result["score"] for result in client.get(asked).json()["results"]]
    for lowest in {*scores, 0.01, 1}:
        body = client.get(f"{asked}&min_score={lowest}").json()
        assert [result["score"] for result in body["results"]] == [score for score in scores if score >= lowest]
        assert body["total_results"] == len(body["results"]) == sum(part["total_results"] for part in body["indexes"])


def shares(answers, part):
    """Returns how close the best result of each index is to the best of all, 1 for the best."""
    best = {
        name: max((result["scores"][part] or 0 for result in answer["results"]), default=0)
        for name, answer in answers.items()
    }
    return {name: value / max(best.values()) for name, value in best.items()}


def assert_factors(client, asked, names, factors):
    """Checks the scores of the root against the scores and factors of every index."""
    asked = f"/api/v1/search?{asked}&explain=true"
    answers = {name: client.get(f"/{name}{asked}&limit=10").json() for name in names}
    expected = factors(answers)
    results = client.get(f"{asked}&limit=50").json()["results"]
    for name, answer in answers.items():
        scores = [result["score"] for result in results if result["index"] == name]
        own = [result["score"] for result in answer["results"]]
        assert own
        assert scores == pytest.approx([score * expected[name] for score in own], abs=2e-6), (asked, name)
    assert client.get(f"{asked}&limit=1").json()["results"] == results[:1]


@pytest.mark.parametrize("question", ["keys oven", "hot keys", "restore the soup", "rotate keys soup", "soup revoke"])
def test_scores_are_merged_by_how_close_each_index_is_to_the_best_one(client, question):
    def both(answers):
        words, meaning = shares(answers, "lexical"), shares(answers, "semantic")
        return {name: SEMANTIC_WEIGHT * meaning[name] + (1 - SEMANTIC_WEIGHT) * words[name] for name in answers}

    names = ("manual", "cooking")
    assert_factors(client, f"q={question}", names, both)
    assert_factors(client, f"q={question}&mode=lexical", names, lambda answers: shares(answers, "lexical"))
    assert_factors(client, f"q={question}&mode=semantic", names, lambda answers: dict.fromkeys(answers, 1))


def test_requests_may_name_a_selection_of_indexes(client):
    for answer in (
        client.get("/api/v1/search?q=keys&indexes=cooking"),
        client.post("/api/v1/search", json={"query": "keys", "indexes": ["cooking"]}),
    ):
        assert {result["index"] for result in answer.json()["results"]} == {"cooking"}
    pages = [client.get(f"/api/v1/search.html?q=tokens{more}").text for more in ("", "&indexes=cooking")]
    assert ["Über Auth" in page for page in pages] == [True, False]
    assert '<input type="hidden" name="indexes" value="cooking">' in pages[1]  # for the next question
    assert pages[0].partition("<main>")[0].count("<a href=") == 2  # every site, not the first one
    wrong = client.get("/api/v1/search?q=keys&indexes=cooking,nobody")
    assert wrong.status_code == 422
    assert wrong.json()["error"]["message"] == "There is no index 'nobody' here: the indexes are manual, cooking."
    alone = client.get("/manual/api/v1/search?q=keys&indexes=cooking")
    assert (alone.status_code, alone.json()["error"]["field"]) == (422, "indexes")


def test_pages_of_results_are_those_of_one_list(client):
    asked = "/api/v1/search?q=keys&include_weak=true"
    whole = client.get(f"{asked}&limit=9").json()["results"]
    assert len(whole) == 9
    parts = [client.get(f"{asked}&limit=2&offset={offset}").json()["results"] for offset in (0, 2, 4, 6, 8)]
    assert [result for part in parts for result in part] == whole
    deep = client.get("/api/v1/search?q=keys&limit=50&offset=151")
    assert deep.json()["error"]["message"].startswith("offset and limit reach result 201")


def test_corrections_are_reported_for_all_indexes(client):
    body = client.get("/api/v1/search?q=revoek+onoins").json()
    assert body["corrected"] == {"revoek": "revoke", "onoins": "onions"}
    literally = client.get("/api/v1/search?q=revoek+onoins&correct=false&mode=lexical").json()
    assert literally["results"] == []
    assert "corrected" not in literally
    missing = client.get('/api/v1/search?q="soup+of+keys"').json()
    assert missing["missing_phrases"] == ["soup of keys"]
    assert "missing_phrases" not in client.get('/api/v1/search?q="Serve+the+soup"').json()


def test_more_results_than_one_question_may_ask_for(tmp_path):
    for name in ("a", "b"):
        built(tmp_path / name, [made_page("p.md", *(f"keys in section {number} of {name}" for number in range(90)))])
    with TestClient(create_app(sources(tmp_path, "a", "b"))) as client:
        seen = [
            (result["index"], result["section"]["chunk_id"])
            for offset in (0, 50, 100, 150)
            for result in client.get(f"/api/v1/search?q=keys&limit=50&offset={offset}").json()["results"]
        ]
    assert len(seen) == len(set(seen)) == 180


def test_facets_are_added_up(client):
    body = client.get("/api/v1/facets").json()
    assert [field["name"] for field in body["facets"]] == ["tags", "status", "year", "date", "draft"]
    asked = "api/v1/search?q=rotate+the+hot+keys&facets=tags,page.path&limit=50"
    added, *parts = (client.get(f"/{name}{asked}").json() for name in ("", "manual/", "cooking/"))
    for field in ("tags", "page.path"):
        counts = Counter()
        for part in parts:
            counts.update({item["value"]: item["count"] for item in part["facets"][field]})
        assert {item["value"]: item["count"] for item in added["facets"][field]} == counts
        assert counts
    assert all(part["facets"]["page.path"] for part in parts)


def test_a_page_belongs_to_one_index(client):
    for address in ("/api/v1/pages/soup.md", "/api/v1/related/soup.md"):
        answer = client.get(address)
        assert answer.status_code == 422
        assert "as in /manual/api/v1/…" in answer.json()["error"]["message"]


def test_the_entity_tag_follows_every_build(folders, tmp_path):
    for name in ("manual", "cooking"):
        (build if name == "manual" else lambda place: built(place, COOKING))(tmp_path / name)
    parts = sources(tmp_path, "manual", "cooking")
    with TestClient(create_app(parts)) as client:
        tag = client.get("/api/v1/search?q=keys").headers["etag"]
        assert client.get("/api/v1/search?q=keys", headers={"If-None-Match": tag}).status_code == 304
        built(tmp_path / "cooking", COOKING[:1])
        parts["cooking"].refresh()
        assert client.get("/api/v1/search?q=keys", headers={"If-None-Match": tag}).status_code == 200


def test_the_server_is_ready_when_all_indexes_are(folders):
    parts = sources(folders, "manual", "nowhere")
    with TestClient(create_app(parts)) as client:
        assert client.get("/manual/readyz").status_code == 200
        assert client.get("/manual/api/v1/search?q=keys").status_code == 200
        assert client.get("/nowhere/readyz").status_code == 503
        answer = client.get("/readyz")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "The index nowhere is not loaded yet" in answer.json()["error"]["message"]
        wrong = client.get("/api/v1/search.html?q=keys&indexes=nobody")
        assert (wrong.status_code, "There is no index 'nobody'" in wrong.text) == (422, True)
        for path in ("search?q=keys", "facets"):
            refused = client.get(f"/api/v1/{path}")
            assert (refused.status_code, refused.json()["error"]) == (503, answer.json()["error"])
            # By these the widget finds the index of its site.
            assert [(part["name"], part["site_url"]) for part in refused.json()["indexes"]] == [("manual", "")]
        metrics = client.get("/metrics").text
    assert 'semsearch_ready{index="manual"} 1' in metrics
    assert 'semsearch_ready{index="nowhere"} 0' in metrics
    assert 'semsearch_searches_total{index="manual",mode="hybrid"} 1' in metrics


def test_the_folders_of_a_site_that_are_named_like_indexes_are_served(folders, tmp_path):
    """mike puts each version into a folder, and its index has the same name."""
    for page in ("index.html", "manual/index.html", "manual/guide/index.html", "404.html"):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text(f"<h1>{page}</h1>")
    with TestClient(create_app(sources(folders, "manual", "cooking"), site_dir=tmp_path)) as client:
        for path in ("", "manual/", "manual/guide/"):
            assert client.get(f"/{path}").text == f"<h1>{path}index.html</h1>"
        assert client.get("/manual").text == "<h1>manual/index.html</h1>"
        missing = client.get("/manual/none/")
        assert (missing.status_code, missing.text) == (404, "<h1>404.html</h1>")
        assert client.get("/cooking/").status_code == 404
        (tmp_path.with_name("outside")).mkdir()
        (tmp_path.with_name("outside") / "secret.txt").write_text("secret")
        (tmp_path / "cooking").symlink_to(tmp_path.with_name("outside"))
        assert client.get("/cooking/secret.txt").status_code == 404
        assert client.get("/manual/readyz").json()["pages"] == 4
        assert client.get("/manual/api/v1/search?q=keys").json()["total_results"]
        assert client.get("/manual/api/v1/none").json()["error"]["code"] == "not_found"
        assert client.get("/-/semsearch/manual/api/v1/facets").status_code == 200
        assert client.get("/-/semsearch/manual/guide/").status_code == 404


def test_readiness_lists_all_indexes(client):
    body = client.get("/readyz").json()
    assert [(part["name"], part["pages"]) for part in body["indexes"]] == [("manual", 4), ("cooking", 2)]


def test_similarities_of_different_models_are_not_compared(folders, tmp_path):
    other = WordHashEmbedder("another-model")
    built(tmp_path / "other", COOKING, embedder=other)
    parts = sources(folders, "manual") | {
        "other": LiveIndex(tmp_path / "other", open_index=lambda place: open_searcher(place, embedder=other))
    }
    with TestClient(create_app(parts)) as client:
        refused = client.get("/api/v1/search?q=keys&mode=semantic")
        assert refused.status_code == 422
        assert "manual: word-hash-64, other: another-model" in refused.json()["error"]["message"]
        assert client.get("/api/v1/search?q=onions+soup").json()["results"][0]["index"] == "other"
        assert_factors(client, "q=hot+keys", parts, lambda answers: shares(answers, "lexical"))
        assert client.get("/api/v1/search?q=keys&mode=semantic&indexes=other").status_code == 200


def test_one_degraded_index_makes_the_whole_answer_degraded(folders):
    parts = sources(folders, "manual") | {
        "cooking": LiveIndex(
            folders / "cooking", open_index=lambda place: open_searcher(place, embedder=DeadEmbedder())
        )
    }
    with TestClient(create_app(parts)) as client:
        body = client.get("/api/v1/search?q=soup").json()
        assert_factors(client, "q=hot+keys", parts, lambda answers: shares(answers, "lexical"))
    assert body["degraded"] is True
    assert body["mode"] == "hybrid"
    assert body["results"][0]["index"] == "cooking"


def test_indexes_with_the_same_encoder_share_it(tmp_path):
    from mkdocs_semsearch.serving.encoder_pool import EncoderPool

    one, other = object.__new__(type("Encoder", (), {})), None
    folder = build(tmp_path / "index")
    pool = EncoderPool()
    first = pool.open(folder)
    manifest = dataclasses.replace(
        first.manifest,
        encoder=dataclasses.replace(first.manifest.encoder, exported=True),
        files=(dataclasses.replace(first.manifest.files[0], path="encoder/encoder.onnx"),),
    )
    pool._encoders[("encoder/encoder.onnx", manifest.files[0].sha256),] = one
    other = pool._encoder(manifest, folder, published=False)
    assert other is one


def test_the_log_tells_several_indexes_apart(folders, caplog):
    caplog.set_level("INFO")
    app = create_app({"latest": folders / "manual", "recipes": str(folders / "cooking")})
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/readyz").status_code == 200
    assert f"Index latest ({folders / 'manual'}) loaded: build " in caplog.text
    assert f"Index recipes ({folders / 'cooking'}) loaded: build " in caplog.text


def test_with_a_filter_only_indexes_with_a_match_have_results(tmp_path):
    one = [made_page("a.md", "Install it.", kind="reference"), made_page("b.md", "Bake a bread.")]
    two = [made_page("c.md", "Install it."), made_page("d.md", "Boil a soup.", kind="reference")]
    parts = {}
    for name, pages in {"one": one, "two": two}.items():
        built(tmp_path / name, pages)
        parts[name] = LiveIndex(tmp_path / name, open_index=open_small)
    asked = {"facets": ["page.kind"], "filters": [{"op": "equals", "field": "page.kind", "value": "reference"}]}
    with TestClient(create_app(parts), base_url="http://localhost") as client:
        answer = client.post("/api/v1/search", json={"query": "install", **asked}).json()
        assert [result["page"]["path"] for result in answer["results"]] == ["a.md"]
        counts = {item["value"]: item["count"] for item in answer["facets"]["page.kind"]}
        assert counts["reference"] == answer["total_results"] == 1
        assert client.post("/two/api/v1/search", json={"query": "install", **asked}).json()["total_results"] == 1
        nowhere = client.post("/api/v1/search", json={"query": "bread", "indexes": ["two"], **asked}).json()
        assert nowhere["total_results"] == 1


def test_an_index_that_copies_the_build_id_of_another_does_not_answer_for_it(tmp_path):
    built(tmp_path / "own", [made_page("own.md", "Rotate the keys.")])
    built(tmp_path / "vendor", [made_page("vendor.md", "Rotate the keys.")])
    manifest = json.loads((tmp_path / "vendor/manifest.json").read_text())
    build_id = open_index(tmp_path / "own").manifest.build_id
    (tmp_path / "vendor" / manifest["build_id"]).rename(tmp_path / "vendor" / build_id)
    (tmp_path / "vendor/manifest.json").write_text(json.dumps(manifest | {"build_id": build_id}))
    with TestClient(create_app(sources(tmp_path, "vendor", "own")), base_url="http://localhost") as client:
        for name in ("vendor", "own"):
            (result,) = client.get(f"/{name}/api/v1/search?q=keys").json()["results"]
            assert result["page"]["path"] == f"{name}.md"
