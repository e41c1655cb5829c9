/* Reads the texts of the sections and pages that an answer shows. */

import { shardOf } from "./bundle.js";

export class Records {
  #starts;

  constructor(bundle, core, pageOf) {
    this.#starts = core.array("text_starts");
    Object.assign(this, { bundle, pageOf, pageRows: new Map() });
  }

  /** Returns {chunk, page} of each row as stored, and records the page's row under its path in `pageRows`. */
  read(rows) {
    return Promise.all(
      [...rows].map(async (row) => {
        const number = shardOf(this.#starts, row);
        const shard = await this.bundle.read(`texts/${number}.bin`, (blocks) => ({
          chunks: blocks.json("chunks"),
          pages: blocks.json("pages"),
        }));
        const page = shard.pages[this.pageOf[row]];
        this.pageRows.set(page.path, this.pageOf[row]);
        return { chunk: shard.chunks[row - this.#starts[number]], page };
      }),
    );
  }
}

/* Records as answers have them: a value that is not stored is null or an empty list. */

export const pageRecord = (page) => ({
  path: page.path,
  url: page.url,
  title: page.title,
  breadcrumbs: page.breadcrumbs ?? [],
  frontmatter: page.frontmatter,
  file_size: page.file_size,
  chunk_count: page.chunk_count,
  languages: page.languages,
  primary_language: page.primary_language,
  last_modified: page.last_modified ?? null,
  indexed_at: null,
  content_hash: page.content_hash ?? null,
  language: page.language ?? null,
  translations: page.translations ?? {},
});

export const sectionRecord = (chunk, page, { excerpt, highlights }) => ({
  chunk_id: chunk.chunk_id,
  chunk_index: chunk.chunk_index,
  heading_hierarchy: chunk.heading_hierarchy,
  anchor: chunk.anchor ?? null,
  url: chunk.anchor ? `${page.url}#${chunk.anchor}` : page.url,
  content: chunk.content,
  excerpt,
  highlights,
  start_line: chunk.start_line ?? null,
  end_line: chunk.end_line ?? null,
  char_start: chunk.char_start ?? null,
  char_end: chunk.char_end ?? null,
  kind: chunk.kind,
  language: chunk.language ?? null,
  node_type: chunk.node_type ?? null,
  node_name: chunk.node_name ?? null,
  parent_context: chunk.parent_context ?? null,
  scope_path: chunk.scope_path ?? [],
  node_types: chunk.node_types ?? [],
  node_names: chunk.node_names ?? [],
  parent_contexts: chunk.parent_contexts ?? [],
  scope_depth: chunk.scope_depth ?? null,
  definitions: chunk.definitions ?? [],
  references: chunk.references ?? [],
});
