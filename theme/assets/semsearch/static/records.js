/* Reads the sections and pages that an answer shows. See searching/records.py. */

import { shardOf } from "./bundle.js";
import { COLON_AT_END } from "./excerpts.js";

const DEPTH = 3; // chunks after a bare heading that are searched for a text

export class Records {
  #starts;

  constructor(bundle, core, pageOf) {
    this.#starts = core.array("text_starts");
    Object.assign(this, { bundle, pageOf, pageRows: new Map() });
  }

  /** Returns {chunk, page} of each row as stored, and records the page's row under its path in `pageRows`. */
  read(rows) {
    return Promise.all(Array.from(rows, (row) => this.#one(row)));
  }

  /** Returns the same, with the `text` from which the excerpt is cut and the text that is `introduced` by it. */
  readForExcerpts(rows) {
    return Promise.all(
      rows.map(async (row) => {
        const record = await this.#one(row);
        return { ...record, ...(await this.#textFor(row, record)) };
      }),
    );
  }

  async #one(row) {
    const number = shardOf(this.#starts, row);
    const shard = await this.bundle.read(`texts/${number}.bin`, (blocks) => ({
      chunks: blocks.json("chunks"),
      pages: blocks.json("pages"),
    }));
    const page = shard.pages[this.pageOf[row]];
    this.pageRows.set(page.path, this.pageOf[row]);
    return { chunk: shard.chunks[row - this.#starts[number]], page };
  }

  /** See `text_for_excerpt` in searching/excerpts.py. */
  async #textFor(row, { chunk, page }) {
    const { content: text, anchor, heading_hierarchy: path } = chunk;
    const isOnPage = (other) => this.pageOf[other] === this.pageOf[row];
    if (!isBare(chunk)) {
      const { chunk: next } = COLON_AT_END.test(text) && isOnPage(row + 1) ? await this.#one(row + 1) : {};
      const same = next?.anchor === anchor && next?.heading_hierarchy.join("\n") === path.join("\n");
      return { text, introduced: same ? next.content : "" };
    }
    for (let other = row + 1; other <= row + DEPTH && isOnPage(other); other++) {
      const { chunk: next } = await this.#one(other);
      if (!path.every((name, at) => name === next.heading_hierarchy[at])) break;
      const name = next.heading_hierarchy.at(-1);
      const colon = /[:?!.…：？！。]$/.test(name) ? "" : ":";
      if (!isBare(next)) return { text: `${name}${colon}\n\n${next.content}`, introduced: "" };
    }
    const description = page.frontmatter?.description;
    return { text: typeof description === "string" && description.trim() ? description : text, introduced: "" };
  }
}

/** Returns whether the whole text of a chunk is its heading. */
const isBare = ({ content, heading_hierarchy: path }) =>
  path.length > 0 && content.replaceAll("`", "") === path.at(-1).replaceAll("`", "");

/* Records as answers have them: a value that is not stored is null or an empty list. */

const NO_VALUES_OF_PAGE = { breadcrumbs: [], last_modified: null, content_hash: null, language: null, translations: {} };
const NO_VALUES = {
  anchor: null,
  start_line: null,
  end_line: null,
  char_start: null,
  char_end: null,
  language: null,
  node_type: null,
  node_name: null,
  parent_context: null,
  scope_depth: null,
  scope_path: [],
  node_types: [],
  node_names: [],
  parent_contexts: [],
  definitions: [],
  references: [],
};

export const pageRecord = ({ section, kind, ...page }) => ({ ...NO_VALUES_OF_PAGE, ...page, indexed_at: null });

export const sectionRecord = (chunk, page, excerpt) => ({
  ...NO_VALUES,
  ...chunk,
  url: chunk.anchor ? `${page.url}#${chunk.anchor}` : page.url,
  ...excerpt,
});

/** Returns the content of a chunk without the sentences that it repeats from the one before, on the same page. */
export function contentAfter(before, { content, heading_hierarchy: path }) {
  const [first, ...rest] = content.split("\n\n");
  const same = before?.heading_hierarchy.join("\n") === path.join("\n");
  return same && rest.length && before.content.endsWith(first) ? rest.join("\n\n") : content;
}
