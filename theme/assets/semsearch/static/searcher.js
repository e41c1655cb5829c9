/* A question in, the answer of the HTTP API out (`granularity: page`), from the files of a static bundle. */

import { Bundle } from "./bundle.js";
import { makeExcerpt } from "./excerpts.js";
import { Fields } from "./fields.js";
import { Lexical } from "./lexical.js";
import { Meaning } from "./meaning.js";
import { findCandidates, lexicalDepth, presented, rankPages, rounded, rowsOf } from "./ranking.js";
import { pageRecord, Records, sectionRecord } from "./records.js";
import { readQuestion } from "./text.js";

export class Searcher {
  constructor(bundle, core) {
    const { chunks } = bundle.pointer;
    Object.assign(this, { bundle, core, chunks, lexical: new Lexical(bundle), fields: new Fields(bundle, core) });
    this.meaning = bundle.pointer.semantic && new Meaning(bundle);
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
    this.records = new Records(bundle, core, this.pageOf);
  }

  static async open(root) {
    const bundle = await Bundle.open(root);
    return new Searcher(bundle, await bundle.read("core.bin"));
  }

  /** `patience`: milliseconds after which words answer alone, and the answer is `loading`. */
  async search({
    query,
    limit = 10,
    offset = 0,
    sections_per_page = 3,
    mode = "hybrid",
    filters = [],
    facets = [],
    patience,
  }) {
    const started = performance.now();
    const question = readQuestion(query.trim());
    const meaning = mode === "lexical" ? null : this.meaning;
    const [asked, similarities, filtered, held] = await Promise.all([
      this.lexical.read(question),
      meaning && inTime(meaning.similarities(question.text), mode === "hybrid" && patience),
      this.#filtered(filters),
      this.lexical.phraseMask(question.phrases),
    ]);
    const [mask, depth] = [both(filtered, held), lexicalDepth(filtered)];
    const given = { mode, question, asked, similarities, mask, depth, weight: meaning?.weight, core: this.core };
    const found = this.#boosted(findCandidates(given));
    const pages = rankPages(found, this);
    const shown = pages.slice(offset, offset + limit);
    const [results, counts] = await Promise.all([
      this.#write(shown, sections_per_page, found, asked.matcher()),
      Promise.all(facets.map((name) => this.#count(name, filters, { asked, similarities, held, found }))),
    ]);
    const degraded = mode !== "lexical" && !this.meaning && this.chunks > 0;
    const loading = similarities === undefined;
    return {
      query: query.trim(),
      mode: degraded || loading ? "lexical" : mode,
      granularity: "page",
      build_id: this.bundle.pointer.build_id,
      took_ms: +(performance.now() - started).toFixed(3),
      total_results: pages.length,
      filters_applied: filters,
      facets: Object.fromEntries(facets.map((name, at) => [name, counts[at]])),
      results,
      ...(degraded && { degraded }),
      ...(loading && { loading }),
    };
  }

  /** Fetches what a question will need whose last word is not finished yet. */
  async prepare(text) {
    const { text: plain, words } = readQuestion(text.trim());
    await Promise.all([this.lexical.load(words), this.meaning?.load(plain)]);
  }

  /** Every declared facet with the number of pages for each of its values. Asked for when a question is near. */
  async facets() {
    if (!navigator.connection?.saveData) this.meaning?.load("").catch(() => {}); // the question itself will tell
    const { build_id, facets } = this.bundle.pointer;
    const columns = await Promise.all(facets.map(({ name }) => this.fields.column(name)));
    return { build_id, facets: facets.map((facet, at) => ({ ...facet, values: columns[at].counts((page) => page) })) };
  }

  /** A page that was a result, with all its sections. */
  async page(path) {
    const row = this.records.pageRows.get(path);
    if (row === undefined) throw new Error(`${path} was in no answer.`);
    const first = this.firstChunk[row];
    const last = this.firstChunk[row + 1] ?? this.chunks;
    const rows = Array.from({ length: last - first }, (_, at) => first + at);
    const records = await this.records.read(rows);
    const sections = records.map(({ chunk, page }) => sectionRecord(chunk, page, { excerpt: "", highlights: [] }));
    return { build_id: this.bundle.pointer.build_id, page: pageRecord(records[0].page), sections };
  }

  /** 1 for the chunks that filters leave; null for all. */
  async #filtered(filters) {
    const [mask = null, ...others] = await Promise.all(filters.map((filter) => this.#filterMask(filter)));
    return others.reduce(both, mask);
  }

  async #filterMask(filter) {
    const path = filter.field === "page.path" && filter.op === "equals" && this.records.pageRows.get(filter.value);
    if (path !== undefined && path !== false && !filter.negate) return this.#spread((page) => +(page === path));
    const column = await this.fields.column(filter.field);
    const mask = column.mask(filter);
    return column.ofChunks ? mask : this.#spread((page) => mask[page]);
  }

  #spread(bitOf) {
    return Uint8Array.from(this.pageOf, bitOf);
  }

  #boosted(found) {
    if (!this.boost.length) return found;
    return { ...found, scores: found.scores.map((score, at) => score * this.boost[this.pageOf[found.rows[at]]]) };
  }

  /** Counts a field over all matching pages; its own filter does not shrink its own counts. */
  async #count(name, filters, { asked, similarities, held, found }) {
    const others = filters.filter(({ field }) => field !== name);
    let { rows } = found;
    if (others.length < filters.length) {
      const mask = both(await this.#filtered(others), held);
      rows = similarities ? rowsOf(mask, this.chunks) : rowsOf(asked.totals(mask));
    }
    const column = await this.fields.column(name);
    const pages = new Map();
    for (const row of rows) pages.set(column.ofChunks ? row : this.pageOf[row], this.pageOf[row]);
    return column.counts((row) => pages.get(row));
  }

  async #write(pages, sectionsPerPage, { rows, scores, semantic, lexical }, matcher) {
    const best = pages.map(({ sections }) => sections.slice(0, sectionsPerPage));
    const records = await this.records.read(best.flat().map((at) => rows[at]));
    const partsOf = (at) => ({
      semantic: semantic && presented(semantic[at]),
      lexical: lexical && rounded(lexical[at], 4),
    });
    let next = 0;
    return pages.map(({ score }, number) => {
      const { page } = records[next];
      const sections = best[number].map((at) => {
        const { chunk } = records[next++];
        const section = sectionRecord(chunk, page, makeExcerpt(chunk.content, matcher));
        return { score: presented(scores[at]), scores: partsOf(at), ...section };
      });
      return { score: presented(score), scores: partsOf(best[number][0]), page: pageRecord(page), sections };
    });
  }
}

/** What two masks leave; null leaves all. */
const both = (mask, other) => (mask && other ? mask.map((bit, row) => bit & other[row]) : (mask ?? other));

/** What a promise gives, or undefined after so many milliseconds. */
const inTime = (promise, limit) =>
  limit ? Promise.race([promise, new Promise((resolve) => setTimeout(resolve, limit))]) : promise;
