/* Answers questions as the HTTP API does (`granularity: page`), from the files of a static bundle. */

import { load } from "../load.js";
import { Bundle } from "./bundle.js";
import { chunkMap, shownOf } from "./chunk_map.js";
import { makeExcerpt } from "./excerpts.js";
import { Fields } from "./fields.js";
import { Lexical } from "./lexical.js";
import { Meaning } from "./meaning.js";
import { PIN } from "./names.js";
import { highest, judge, lexicalDepth, only, presented, rankPages, rounded, rowsOf, score } from "./ranking.js";
import { contentAfter, pageRecord, Records, sectionRecord } from "./records.js";
import { asWritten, readQuestion } from "./text.js";

const FEW = 3; // results that are fetched first
const AHEAD = 60; // milliseconds in which only the first results are loaded

export class Searcher {
  constructor(bundle, core) {
    const { chunks } = bundle.pointer;
    const meaning = bundle.pointer.semantic && new Meaning(bundle);
    const lexical = new Lexical(bundle, meaning);
    Object.assign(this, { bundle, core, chunks, lexical, meaning, fields: new Fields(bundle, core) });
    this.boost = core.array("boost");
    this.kinds = core.array("kinds");
    Object.assign(this, chunkMap(core, chunks, bundle.pointer.weights));
    this.records = new Records(bundle, core, this.pageOf);
  }

  static async open(root, cache) {
    const bundle = await Bundle.open(root, cache);
    const searcher = new Searcher(bundle, await bundle.read("core.bin"));
    if (bundle.pointer.languages) {
      const { Languages } = await load(import.meta.resolve("./languages.js"));
      searcher.languages = new Languages(bundle.pointer, searcher.core);
    }
    return searcher;
  }

  /** After `patience` milliseconds it answers by words alone (`loading`), after `hurry` with some results (`partial`). */
  async search({ query, mode = "hybrid", filters = [], facets = [], patience, correct, hurry, ...options }) {
    const started = performance.now();
    if (!query.trim()) return (await load(import.meta.resolve("./listing.js"))).browse(this, { filters, facets, started, ...options });
    const read = await this.#read({ text: query.trim(), mode, filters, patience, correct, options });
    const { given, corrections, filtered, phrases, missing } = read;
    const found = this.#ranked(given, filtered, phrases);
    const { limit = 10, offset = 0, include_weak, sort } = options;
    if (sort === "newest") await (await load(import.meta.resolve("./listing.js"))).sortByDay(this, found);
    const shown = found.pages.slice(offset, Math.min(offset + limit, include_weak ? Infinity : found.total));
    const [results, counts] = await Promise.all([
      this.#writeInOrder(shown, found, given, hurry),
      Promise.all(facets.map((name) => this.#count(name, filters, { given, phrases, found }))),
    ]);
    const degraded = mode !== "lexical" && !this.meaning && this.chunks > 0;
    const loading = given.similarities === undefined;
    const texts = textsOf(results);
    const corrected = Object.entries(corrections).map(([word, [other]]) => [word, asWritten(other, texts)]);
    return {
      query: query.trim(),
      mode: degraded || loading ? "lexical" : mode,
      granularity: "page",
      build_id: this.bundle.pointer.build_id,
      took_ms: +(performance.now() - started).toFixed(3),
      total_results: found.total,
      weaker_results: found.pages.length - found.total,
      filters_applied: filters,
      facets: Object.fromEntries(facets.map((name, at) => [name, counts[at]])),
      results,
      ...(corrected.length && { corrected: Object.fromEntries(corrected) }),
      ...(missing.length && { missing_phrases: missing }),
      ...(degraded && { degraded }),
      ...(loading && { loading }),
      ...(results.length < shown.length && { partial: true }),
    };
  }

  /** Reads a question, and fetches what ranks its results: words, similarities, and the masks of filters and phrases. */
  async #read({ text, mode, filters, patience, correct, options }) {
    const meaning = mode === "lexical" ? null : this.meaning;
    const question = readQuestion(text);
    const typed = this.lexical.sift(question);
    const due = performance.now() + patience;
    const timeLeft = () => mode === "hybrid" && patience && Math.max(1, due - performance.now());
    const near = (text) => inTime(meaning.similarities(text), timeLeft());
    const reading = this.lexical.read(typed, correct);
    if (patience) await inTime(reading, AHEAD); // over HTTP/2 the words would wait behind all vectors
    const [{ asked, corrections }, asTyped, filtered, held] = await Promise.all([
      reading,
      meaning && near(typed.embedded),
      this.filtered(filters),
      this.lexical.phraseMask(typed.phrases),
    ]);
    const { embedded } = this.lexical.sift(question, corrections);
    const similarities = asTyped && embedded !== typed.embedded ? await near(embedded) : asTyped;
    const missing = held && !held.some(Boolean) ? typed.phrases : [];
    const used = missing.length ? (await this.lexical.read({ ...typed, phrases: [] }, correct)).asked : asked;
    const given = { asked: used, question: { ...typed, ...used.weigh() }, similarities, mode, options, known: {} };
    return { given, corrections, filtered, phrases: missing.length ? null : held, missing };
  }

  /** Writes the first results, and the others if these take at most `hurry` milliseconds. */
  async #writeInOrder(shown, found, { asked, options }, hurry) {
    const { sections_per_page = 3 } = options;
    const matcher = asked.matcher();
    const rowOf = (at) => found.rows[shownOf(at, found, this)];
    const scoresOf = (at) => ({
      score: presented(found.scores[at]),
      scores: {
        semantic: found.semantic && presented(found.semantic[at]),
        lexical: found.lexical && rounded(found.lexical[at], 4),
      },
    });
    const write = (pages) => this.write(pages, sections_per_page, { matcher, rowOf, scoresOf });
    const writing = write(shown.slice(0, FEW));
    if (hurry) await inTime(writing, AHEAD);
    const [first, others = []] = await Promise.all([writing, inTime(write(shown.slice(FEW)), hurry)]);
    return [...first, ...others];
  }

  /** Ranks all pages for a question under a mask of filters and one of phrases; see `rankPages`. */
  #ranked({ options, ...given }, filtered, phrases, fold = true) {
    const { weights, semantic } = this.bundle.pointer;
    const { languages, pageOf } = this; // no `languages` if the model knows all of them
    const isForeign = languages?.foreignTo(options.language);
    const kindOf = (row) => this.kinds[pageOf[row]] ?? 0;
    const factorOf = (row) => (isForeign?.(pageOf[row]) ? weights.languages.other : 1);
    const meaningOf = languages?.meaning && ((row) => languages.meaning[pageOf[row]]);
    const evidence = meaningOf && ((found) => languages.evidence(given.question, found, pageOf));
    const all = { ...this, ...given, kindOf, factorOf, meaningOf, evidence, semantic, weights, phrased: !!phrases };
    const judged = (mask) => judge(all, both(mask, phrases), lexicalDepth(mask, weights.fusion));
    // Filters select among the matches of the whole site; for the case that none passes, see `Scoring.candidates`.
    given.known.ofSite ??= judged(null);
    let found = filtered ? only(given.known.ofSite, filtered) : given.known.ofSite;
    if (filtered && !found.matching.includes(1)) found = judged(filtered);
    const scored = this.#boosted(score(found, all));
    const kept = (fold && languages?.oneTranslation(scored, pageOf, isForeign)) || scored;
    return { ...kept, ...rankPages(kept, this, options.min_score) };
  }

  /** Fetches the shards for the finished words of a question. */
  async prepare(text) {
    const { embedded, words } = this.lexical.sift(readQuestion(text.trim()));
    await Promise.all([this.lexical.load(words), this.meaning?.load(embedded)]);
  }

  /** Fetches the words of a question whose last one may not be finished. */
  async foresee(text) {
    await this.lexical.foresee(this.lexical.sift(readQuestion(text.trim())));
  }

  /** Returns every declared facet with the number of pages of each value. Called when the dialog opens. */
  async facets() {
    const load = () => this.meaning?.load("").catch(() => {}); // the search reports the error
    if (!navigator.connection?.saveData) setTimeout(load, AHEAD);
    const { build_id, facets } = this.bundle.pointer;
    const columns = await Promise.all(facets.map(({ name }) => this.fields.column(name)));
    return { build_id, facets: facets.map((facet, at) => ({ ...facet, values: columns[at].counts((page) => page) })) };
  }

  /** Returns a page that was a result, with all its sections. */
  async page(path) {
    const row = this.records.pageRows.get(path);
    if (row === undefined) throw new Error(`${path} was in no answer.`);
    const first = this.firstChunk[row];
    const last = this.firstChunk[row + 1] ?? this.chunks;
    const rows = Array.from({ length: last - first }, (_, at) => first + at);
    const records = await this.records.read(rows);
    const sections = records.map(({ chunk, page }, at) => {
      const content = contentAfter(records[at - 1]?.chunk, chunk);
      return sectionRecord({ ...chunk, content }, page, { excerpt: "", highlights: [] });
    });
    return { build_id: this.bundle.pointer.build_id, page: pageRecord(records[0].page), sections };
  }

  /** Returns the rows that a mask allows; all without one. */
  rowsOf(mask) {
    return rowsOf(mask, this.chunks);
  }

  /** Returns a mask: 1 for the chunks that pass filters; null for all. */
  async filtered(filters) {
    const [mask = null, ...others] = await Promise.all(filters.map((filter) => this.#filterMask(filter)));
    return others.reduce(both, mask);
  }

  /** Returns `filtered` without the filters on a field. */
  filteredBut(name, filters) {
    return this.filtered(filters.filter(({ field }) => field !== name));
  }

  async #filterMask(filter) {
    const path = this.records.pageRows.get(filter.field === "page.path" && filter.op === "equals" && filter.value);
    if (path >= 0 && !filter.negate) return this.pageOf.map((page) => +(page === path));
    const column = await this.fields.column(filter.field);
    const mask = column.mask(filter);
    return column.ofChunks ? mask : this.pageOf.map((page) => mask[page]);
  }

  #boosted(found) {
    if (!this.boost.length) return found;
    const most = highest(this.boost, 1); // no boost lifts another page above a pin
    const factorOf = (row) => (found.ranks.get(row) === PIN ? most : this.boost[this.pageOf[row]]);
    const boosted = (scores) => scores.map((score, at) => score * factorOf(found.rows[at]));
    return { ...found, scores: boosted(found.scores), pageScores: boosted(found.pageScores) };
  }

  /** Counts a field over all matching pages; its own filter does not shrink its own counts. */
  async #count(name, filters, { given, phrases, found }) {
    // A page counts in each of its languages, because a filter on one shows its translation.
    const fold = name !== "page.language";
    const same = fold && filters.every(({ field }) => field !== name);
    const { matched } = same ? found : this.#ranked(given, await this.filteredBut(name, filters), phrases, fold);
    return this.countRows(name, matched);
  }

  async countRows(name, matched) {
    const column = await this.fields.column(name);
    const pages = new Map();
    for (const row of matched) pages.set(column.ofChunks ? row : this.pageOf[row], this.pageOf[row]);
    return column.counts((row) => pages.get(row));
  }

  /** Writes results. `rowOf` and `scoresOf` return the row that is shown of a section, and the scores of the section. */
  async write(pages, sectionsPerPage, { matcher, rowOf, scoresOf }) {
    const best = pages.map(({ sections }) => sections.slice(0, sectionsPerPage));
    const records = await this.records.readForExcerpts(best.flat().map(rowOf));
    let next = 0;
    return pages.map(({ score, weak, sections: all }, number) => {
      const { page } = records[next];
      const shown = best[number];
      const sections = shown.map((section) => {
        const record = records[next++];
        return { ...scoresOf(section), ...sectionRecord(record.chunk, page, makeExcerpt(record, matcher)) };
      });
      return {
        ...scoresOf(shown[0]),
        score: presented(score),
        page: pageRecord(page),
        sections,
        ...(all.length > shown.length && { more_sections: all.length - shown.length }),
        ...(weak && { weak }),
      };
    });
  }
}

/** Returns the headings and the texts of the sections of results. */
const textsOf = (results) =>
  results.flatMap(({ sections }) => sections.flatMap(({ heading_hierarchy: path, content }) => [...path, content]));

/** Returns the intersection of two masks; null allows all. */
const both = (mask, other) => (mask && other ? mask.map((bit, row) => bit & other[row]) : (mask ?? other));

/** Returns the value of a promise, or undefined after `limit` milliseconds. */
const inTime = (promise, limit) =>
  limit ? Promise.race([promise, new Promise((resolve) => setTimeout(resolve, limit))]) : promise;
