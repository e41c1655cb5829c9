"""Every kind of embedder adds the model's prompts to queries and documents."""

from __future__ import annotations

import numpy as np
import pytest

from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.embedding.onnx_encoder import load_query_encoder
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder
from tests.unit.embedding.embedding_server import EmbeddingServer

PROMPTS = {"query_prompt": "query: ", "document_prompt": "passage: "}


@pytest.fixture(
    params=[
        "default",
        pytest.param("st", marks=pytest.mark.model),
        pytest.param("onnx", marks=pytest.mark.model),
        "openai",
    ]
)
def pair(request, tmp_path, encoder_cache):
    """The same model with and without prompts."""
    if request.param == "openai":
        with EmbeddingServer() as server:
            yield tuple(open_embedder("openai", "m", base_url=server.base_url, **options) for options in (PROMPTS, {}))
        return
    runtime = "auto" if request.param == "default" else "torch"
    embedders = [open_embedder(runtime=runtime, **options) for options in (PROMPTS, {})]
    if request.param == "onnx":
        for number, embedder in enumerate(embedders):
            assert export_query_encoder(embedder, tmp_path / str(number), cache_dir=encoder_cache).exported
        embedders = [load_query_encoder(tmp_path / str(number)) for number in range(2)]
    yield tuple(embedders)


def test_each_role_has_its_prompt(pair):
    prompted, plain = pair
    assert prompted.identity.query_prompt == "query: "
    assert prompted.identity.document_prompt == "passage: "
    assert plain.identity.query_prompt == ""
    for role, prompt in (("query", "query: "), ("document", "passage: ")):
        expected = plain.embed([prompt + "rotate keys"], role)
        np.testing.assert_allclose(prompted.embed(["rotate keys"], role), expected, atol=1e-5)
    assert not np.allclose(
        prompted.embed(["rotate keys"], "query"), prompted.embed(["rotate keys"], "document"), atol=1e-3
    )
