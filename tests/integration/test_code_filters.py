"""Filters on code: a site of snippets in five languages, and a table of the chunks that each filter selects."""

from __future__ import annotations

import html
import textwrap

import pytest

from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document
from mkdocs_semsearch.searching.filters import parse_filter
from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import opened

pytest.importorskip("tree_sitter")

SNIPPETS = {
    "python": '''
        import logging

        logger = logging.getLogger(__name__)

        class ErrorHandler:
            def handle(self, error):
                def describe():
                    return str(error)
                logger.error(describe())

        class Pipeline:
            def process(self, items):
                logger.info("start")
                return self.store.save(items)

        def main():
            Pipeline().process([])
        ''',
    "typescript": '''
        import { logger } from "./log";

        interface Store { save(items: string[]): void; }

        namespace Errors {
          export class ErrorHandler {
            handle(error: Error): void { logger.error(error.message); }
          }
        }

        export class Pipeline {
          private retry = () => this.process([]);
          process(items: string[]): void {
            logger.info("start");
            this.store.save(items);
          }
        }

        function main() { new Pipeline().process([]); }
        ''',
    "rust": '''
        use tracing::info;

        pub struct Pipeline { store: Store }

        mod errors {
            impl Handle for ErrorHandler {
                fn handle(&self, error: Error) { logger.error(error); }
            }
        }

        impl<T> Pipeline<T> {
            pub fn process(&mut self, items: Vec<T>) -> Result<(), Error> {
                logger.info("start");
                self.store.save(items)
            }
        }

        fn main() { Pipeline::new().process(vec![]).unwrap(); }
        ''',
    "go": '''
        package main

        import "log/slog"

        type Pipeline struct { store *Store }

        func (e *ErrorHandler) Handle(err error) {
            describe := func() string { return err.Error() }
            logger.Error(describe())
        }

        func (p *Pipeline) process(items []string) error {
            logger.Info("start")
            return p.store.save(items)
        }

        func main() { (&Pipeline{}).process(nil) }
        ''',
    "java": '''
        import org.slf4j.Logger;

        public class Pipeline {
            static class ErrorHandler {
                void handle(Exception error) { logger.error("failed", error); }
            }

            public void process(List<String> items) {
                logger.info("start");
                this.store.save(items);
            }

            public static void main(String[] args) { new Pipeline().process(List.of()); }
        }
        ''',
}  # fmt: skip
ALL = set(SNIPPETS)
EXPECTED = {
    "chunk.node_type=function": ALL,
    "chunk.node_type=method": ALL,
    "chunk.node_type=class": {"python", "typescript", "java"},
    "chunk.node_type=struct": {"rust", "go"},
    "chunk.node_type=interface": {"typescript"},
    "chunk.node_type=module": {"rust", "typescript"},
    "chunk.node_name=process": ALL,
    "chunk.node_name=main": ALL,
    "chunk.node_name=Pipeline": ALL,
    "chunk.node_name=describe": {"python", "go"},
    "chunk.node_name=logger": set(),
    "chunk.parent_context=ErrorHandler": ALL,
    "chunk.parent_context=Pipeline": ALL,
    "chunk.parent_context=class Pipeline": {"python", "typescript", "java"},
    "chunk.parent_context=impl Pipeline": {"rust"},
    "chunk.parent_context=impl ErrorHandler": {"rust"},
    "chunk.parent_context=impl Handle for ErrorHandler": {"rust"},
    "chunk.parent_context=type Pipeline": {"go"},
    "chunk.scope_depth=2..": ALL,
    "chunk.scope_depth=3..10": ALL,
    "chunk.scope_depth=4..": set(),
    "chunk.references=logger": ALL,
    "chunk.references=store": ALL,
    "chunk.references=save": ALL,
    "chunk.references=self": set(),
    "chunk.has_references=true": ALL,
    "chunk.has_references=false": {"prose"},
    "chunk.references?": ALL,
    "page.languages=rust": {"rust"},
    "page.languages?": ALL,
}


def document(name: str, body: str) -> Document:
    return Document(f"{name}.md", f"{name}/", name.title(), body)


def highlighted(language: str, code: str) -> str:
    return f'<div class="language-{language} highlight"><pre><code>{html.escape(code)}</code></pre></div>'


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    chunker = Chunker(ChunkSettings(400, 20), [], lambda text: len(text.split()))
    documents = [document("prose", "<p>Words alone, and no code at all.</p>")]
    for language, code in SNIPPETS.items():
        body = f"<p>How to do it.</p>{highlighted(language, textwrap.dedent(code).strip())}"
        documents.append(document(language, body))
    pages = [page for page in map(chunker.chunk, documents) if page is not None]
    with opened(tmp_path_factory.mktemp("index"), pages) as searcher:
        yield searcher


@pytest.mark.parametrize(("expression", "expected"), EXPECTED.items())
def test_code_filters_select_the_expected_chunks_in_five_languages(searcher, expression, expected):
    found = searcher.search("", filters=[parse_filter(expression)])
    assert {result.page.path.removesuffix(".md") for result in found} == expected


@pytest.mark.parametrize("language", SNIPPETS)
def test_filters_on_code_hold_together_with_a_question(searcher, language):
    filters = ("chunk.node_type=function", "chunk.node_name=process", "chunk.scope_depth=3..10", "chunk.references?")
    query = SearchQuery(f"{language} start the pipeline", filters=tuple(map(parse_filter, filters)))
    found = searcher.search(query.with_mode("lexical").with_weak())
    assert len(found) == 5
    assert all("process" in result.best.node_names for result in found)
