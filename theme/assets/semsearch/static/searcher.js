/* A question in, the answer of the HTTP API out (`granularity: page`), from the files of a static bundle. */

import { Bundle, shardOf } from "./bundle.js";
import { makeExcerpt } from "./excerpts.js";
import { Fields } from "./fields.js";
import { Lexical } from "./lexical.js";
import { Meaning } from "./meaning.js";
import { applyLiteralRule, fuse, groupBest, keepBest, presented, rankPages, rounded, scaleLexical, scaleSemantic } from "./ranking.js";
import { nameHash, readQuestion } from "./text.js";

export class Searcher {
  constructor(bundle, core) {
    const { chunks } = bundle.pointer;
    Object.assign(this, { bundle, core, chunks, lexical: new Lexical(bundle), fields: new Fields(bundle, core) });
    this.meaning = bundle.pointer.semantic && new Meaning(bundle);
    this.textStarts = core.array("text_starts");
    this.boost = core.array("boost");
    this.pageOf = new Uint32Array(chunks);
    this.firstChunk = [];
    let row = 0;
    core.array("page_chunks").forEach((count, page) => {
      this.firstChunk.push(row);
      this.pageOf.fill(page, row, (row += count));
    });
    let section = -1;
    this.sectionOf = Uint32Array.from(core.array("section_starts"), (start) => (section += start));
    this.pageRows = new Map(); // by path, of the pages that were read
  }

  static async open(root) {
    const bundle = await Bundle.open(root);
    return new Searcher(bundle, await bundle.read("core.bin"));
  }

  async search({ query, limit = 10, offset = 0, sections_per_page = 3, mode = "hybrid", filters = [], facets = [] }) {
    const started = performance.now();
    const question = readQuestion(query.trim());
    const meaning = mode === "lexical" ? null : this.meaning;
    const [asked, similarities, mask] = await Promise.all([
      this.lexical.read(question),
      meaning && meaning.similarities(question.text),
      this.#allowed(question, filters),
    ]);
    const found = this.#candidates({ mode, question, asked, similarities, mask });
    const sections = groupBest(found.rows.map((row) => this.sectionOf[row]), found.scores);
    const pages = rankPages(sections, ({ best }) => this.pageOf[found.rows[best]]);
    const shown = pages.slice(offset, offset + limit);
    const [results, counts] = await Promise.all([
      this.#write(shown, sections_per_page, found, asked.matcher()),
      Promise.all(facets.map((name) => this.#count(name, question, filters, { asked, similarities, found }))),
    ]);
    const degraded = mode !== "lexical" && !this.meaning && this.chunks > 0;
    return {
      query: query.trim(),
      mode: degraded ? "lexical" : mode,
      granularity: "page",
      build_id: this.bundle.pointer.build_id,
      took_ms: +(performance.now() - started).toFixed(3),
      total_results: pages.length,
      filters_applied: filters,
      facets: Object.fromEntries(facets.map((name, at) => [name, counts[at]])),
      results,
      ...(degraded && { degraded }),
    };
  }

  /** Every declared facet with the number of pages for each of its values. Asked for when a question is near. */
  async facets() {
    if (!navigator.connection?.saveData) this.meaning?.warm();
    const { build_id, facets } = this.bundle.pointer;
    const columns = await Promise.all(facets.map(({ name }) => this.fields.column(name)));
    return { build_id, facets: facets.map((facet, at) => ({ ...facet, values: columns[at].counts((row) => [row]) })) };
  }

  /** A page that was a result, with all its sections. */
  async page(path) {
    const row = this.pageRows.get(path);
    if (row === undefined) throw new Error(`${path} was in no answer.`);
    const first = this.firstChunk[row];
    const last = this.firstChunk[row + 1] ?? this.chunks;
    const rows = Array.from({ length: last - first }, (_, at) => first + at);
    const records = await this.#records(rows);
    const sections = records.map(({ chunk, page }) => sectionOf(chunk, page, { excerpt: "", highlights: [] }));
    return { build_id: this.bundle.pointer.build_id, page: pageOf(records[0].page), sections };
  }

  /** 1 for the chunks that filters and phrases leave; null for all. */
  async #allowed({ phrases }, filters) {
    const masks = filters.map((filter) => this.#filterMask(filter));
    if (phrases.length) masks.push(this.lexical.phraseMask(phrases));
    const [mask = null, ...others] = await Promise.all(masks);
    return others.reduce((all, other) => all.map((bit, row) => bit & other[row]), mask);
  }

  async #filterMask(filter) {
    const path = filter.field === "page.path" && filter.op === "equals" && this.pageRows.get(filter.value);
    if (path !== undefined && path !== false && !filter.negate) return this.#spread((page) => +(page === path));
    const column = await this.fields.column(filter.field);
    const mask = column.mask(filter);
    return column.ofChunks ? mask : this.#spread((page) => mask[page]);
  }

  #spread(bitOf) {
    return Uint8Array.from(this.pageOf, bitOf);
  }

  /** Rows, what ranks them, and the two parts of that; the same steps as searching/candidates.py. */
  #candidates({ mode, question, asked, similarities, mask }) {
    const isAllowed = (row) => !mask || mask[row];
    let totals = mode === "semantic" && similarities ? null : asked.totals().map((total, row) => (isAllowed(row) ? total : 0));
    if (totals && similarities) totals = keepBest(totals);
    const all = Uint32Array.from({ length: this.chunks }, (_, row) => row);
    const rows = all.filter((row) => (similarities ? isAllowed(row) : totals[row] > 0));
    const semantic = similarities && Float32Array.from(rows, (row) => similarities[row]);
    const lexical = totals && Float32Array.from(rows, (row) => totals[row] / asked.unit);
    let scores = null;
    if (!lexical) scores = semantic.map((similarity) => Math.max(0, similarity));
    else {
      const byWords = scaleLexical(lexical);
      const fused = semantic ? fuse(scaleSemantic(semantic), byWords, this.meaning.weight) : byWords;
      scores = applyLiteralRule(fused, this.#literalRanks(question, asked, rows));
    }
    if (this.boost.length) scores = scores.map((score, at) => score * this.boost[this.pageOf[rows[at]]]);
    return { rows, scores, semantic, lexical };
  }

  #literalRanks(question, asked, rows) {
    const ranks = new Map();
    if (question.words.length === 1) for (const row of asked.identifierRows()) ranks.set(row, 1);
    const hash = nameHash(question.text);
    const [names, namedRows, nameRanks] = ["name_hash", "name_row", "name_rank"].map((name) => this.core.array(name));
    for (let at = hash === null ? -1 : names.indexOf(hash); at >= 0 && names[at] === hash; at++)
      ranks.set(namedRows[at], Math.max(nameRanks[at], ranks.get(namedRows[at]) ?? 0));
    return Int8Array.from(rows, (row) => ranks.get(row) ?? 0);
  }

  /** Counts a field over all matching pages; its own filter does not shrink its own counts. */
  async #count(name, question, filters, { asked, similarities, found }) {
    const others = filters.filter(({ field }) => field !== name);
    let { rows } = found;
    if (others.length < filters.length) {
      const mask = await this.#allowed(question, others);
      const totals = similarities ? null : asked.totals();
      rows = [...this.pageOf.keys()].filter((row) => (!mask || mask[row]) && (!totals || totals[row] > 0));
    }
    const column = await this.fields.column(name);
    const groups = new Map();
    for (const row of rows) {
      const page = this.pageOf[row];
      const place = column.ofChunks ? row : page;
      if (!groups.has(place)) groups.set(place, [page]);
    }
    return column.counts((row) => groups.get(row) ?? []);
  }

  async #write(pages, sectionsPerPage, { rows, scores, semantic, lexical }, matcher) {
    const best = pages.map(({ sections }) => sections.slice(0, sectionsPerPage).map((section) => section.best));
    const records = await this.#records(best.flat().map((at) => rows[at]));
    const partsOf = (at) => ({
      semantic: semantic && presented(semantic[at]),
      lexical: lexical && rounded(lexical[at], 4),
    });
    let next = 0;
    return pages.map(({ score }, number) => {
      const { page } = records[next];
      const sections = best[number].map((at) => {
        const { chunk } = records[next++];
        const section = sectionOf(chunk, page, makeExcerpt(chunk.content, matcher));
        return { score: presented(scores[at]), scores: partsOf(at), ...section };
      });
      return { score: presented(score), scores: partsOf(best[number][0]), page: pageOf(page), sections };
    });
  }

  /** {chunk, page} as they are stored, from the shards that have them. */
  async #records(rows) {
    return Promise.all(
      [...rows].map(async (row) => {
        const number = shardOf(this.textStarts, row);
        const shard = await this.bundle.read(`texts/${number}.bin`, (blocks) => ({
          chunks: blocks.json("chunks"),
          pages: blocks.json("pages"),
        }));
        const page = shard.pages[this.pageOf[row]];
        this.pageRows.set(page.path, this.pageOf[row]);
        return { chunk: shard.chunks[row - this.textStarts[number]], page };
      }),
    );
  }
}

const pageOf = ({ path, url, title, frontmatter, file_size, chunk_count, languages, primary_language }) => ({
  path,
  url,
  title,
  frontmatter,
  file_size,
  chunk_count,
  languages,
  primary_language,
});

/** As in an answer: what is not stored is null, or an empty list. */
const sectionOf = (chunk, page, { excerpt, highlights }) => ({
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
  definitions: chunk.definitions ?? [],
  references: chunk.references ?? [],
});
