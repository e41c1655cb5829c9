/* Scores chunks by the words of a question, in whole numbers, as static/lexical_side.py does. */

import { rowsNamed, TITLE } from "./names.js";
import { rounded } from "./ranking.js";
import {
  COMPARING, identifierForms, identifierParts, isCode, joinedName, matchesAlone, spokenWords,
  termsOf, wholeIdentifiers,
} from "./text.js";
import { Matcher, Words } from "./words.js";

const UNIT = 10; // weights of clauses are whole tenths
const LOOK_UP_WORDS = 2; // in a question of at most this many words, the last may be the beginning of a longer one
const LEAST_TELLING = 2;
const MAX_COMPLETIONS = 12;
const MAX_CORRECTED = 8;
const MAX_FORMS = 2;
const MAX_OTHERS = 4; // words beside which the site's name has less weight; MOST_BESIDE_NAME in Python
const [LEVEL, IN_HEADING] = [15, 16]; // bits of an impact: the score, and whether the word is in the heading

export class Lexical {
  constructor(bundle, meaning) {
    const { chunks, lexical, weights } = bundle.pointer;
    this.words = new Words(bundle, meaning);
    this.rows = chunks;
    this.unit = lexical.unit;
    this.leastLevels = Math.round(LEVEL * weights.bm25.static_lower_bound);
    this.clauses = weights.clauses;
    this.headings = weights.headings;
    this.stop = new Set(lexical.stop);
    this.common = new Set(lexical.common);
    this.names = new Set(lexical.names);
    this.links = lexical.links;
  }

  /** Corrects typos, and leaves out the words that do not distinguish pages of this site. Needs no file. */
  sift(question, corrections = {}) {
    const corrected = (word) => {
      const [bare] = spokenWords(word);
      return Object.hasOwn(corrections, bare) ? word.replaceAll(bare, corrections[bare][0]) : word;
    };
    const words = question.embedded.split(/\s+/).filter(Boolean).map(corrected);
    const kept = words.filter((word) => !all(termsOf(word), this.common));
    const remaining = kept.filter((word) => this.#tells(word) && !all(termsOf(word), COMPARING));
    const told = question.words.filter((word) => this.#tells(word));
    const telling = told.length ? told : question.words;
    const named = telling.filter((word) => all(termsOf(word), this.names));
    const others = telling.length - named.length;
    return {
      ...question,
      telling,
      named: new Set(others && others <= MAX_OTHERS ? named : []),
      embedded: (remaining.length >= LEAST_TELLING ? kept : words).join(" "),
    };
  }

  #tells(word) {
    return !termsOf(word).every((term) => this.stop.has(term));
  }

  /** Fetches the posting lists of words, and returns the words with their terms and identifiers. */
  async load(given) {
    const words = [...new Set(given)].map((word) => {
      const terms = termsOf(word);
      const parts = identifierParts(word).flatMap(termsOf).filter((part) => [...part].length > 1);
      const forms = identifierForms(word).slice(0, MAX_FORMS);
      return { word, terms, parts, forms, corrections: [], divided: [] };
    });
    const terms = words.flatMap((word) => [...word.terms, ...word.parts]);
    await this.words.load(terms, words.flatMap(({ forms }) => forms));
    return words;
  }

  /** Fetches posting lists and, beside them, the words that begin with the last word of a short question. */
  foresee({ words, phrases }) {
    const short = !phrases.length && words.length <= LOOK_UP_WORDS;
    return Promise.all([this.load(words), short && this.#completions(words.at(-1) ?? "")]);
  }

  /** Fetches everything for the words of a question. The returned `asked` needs no further files. */
  async read(question, correct = true) {
    const last = question.words.at(-1) ?? "";
    const exact = question.phrases.length > 0;
    const [all, begun] = await this.foresee(question);
    const chosen = new Set(question.telling);
    const words = all.filter(({ word }) => chosen.has(word));
    const joining = this.#findJoined(words);
    const isUnknown = ({ word, terms: [term, second] }) =>
      term && second === undefined && this.#tells(word) && !this.words.find(term);
    const single = words.filter(isUnknown);
    const reading = single.slice(0, MAX_CORRECTED).map(async (item) => {
      item.divided = await this.words.divided(item.terms[0], (parts) => this.#knownParts(parts), this.links);
      if (correct && !item.divided.length)
        item.corrections = await this.words.corrections(item.terms[0], item.word !== last);
    });
    const [term] = termsOf(last);
    const known = exact || (term && this.words.find(term)?.chunks);
    const completing = begun || (known ? [] : this.#completions(last));
    const [completions] = await Promise.all([completing, joining, ...reading]);
    for (const item of words) if (item.joined) item.corrections = item.divided = [];
    const corrected = words.filter(({ corrections }) => corrections.length);
    await this.words.load([...completions, ...corrected.flatMap(({ corrections }) => corrections)]);
    const { text, words: typed, telling, named } = question;
    const asked = new Asked(this, { all, words, completions, unfinished: last, text, typed, telling, named });
    return { asked, corrections: Object.fromEntries(corrected.map((item) => [item.word, item.corrections])) };
  }

  /** Returns the words that the site has, without stop words. */
  async #knownParts(parts) {
    await this.words.load(parts);
    return new Set(parts.filter((part) => this.#tells(part) && this.words.find(part)));
  }

  /** Finds the words that the site only joins differently: `groupby` for `group_by`, `time-out` for `timeout`. */
  async #findJoined(words) {
    const isKnown = ({ terms, forms }, name) =>
      (terms.length === 1 && this.words.find(terms[0])?.chunks) ||
      forms.some((form) => form !== name && this.words.identifier(form));
    const named = words.map((item) => [item, joinedName(item.word)]);
    const wanted = named.filter(([item, name]) => name && !isKnown(item, name));
    const names = wanted.map(([, name]) => name);
    await this.words.load(names, names);
    for (const [item, name] of wanted)
      if (this.words.identifier(name) || this.words.find(name)?.chunks) item.joined = name;
  }

  /** Returns words that begin with the last word of a question. */
  async #completions(last) {
    const [term = "", second] = termsOf(last);
    return second !== undefined || [...term].length < 2 ? [] : this.words.beginningWith(term, MAX_COMPLETIONS);
  }

  /** Returns a mask: 1 for the rows in which every phrase occurs word for word; null without phrases. */
  async phraseMask(phrases) {
    if (!phrases.length) return null;
    const found = await Promise.all(phrases.map((phrase) => this.words.phraseRows(termsOf(phrase))));
    const held = new Uint16Array(this.rows);
    for (const row of found.flat()) held[row] += 1;
    return held.map((count) => count === phrases.length);
  }
}

const all = (terms, known) => terms.length > 0 && terms.every((term) => known.has(term));

/** Returns the forms of a word that is written as code: the whole, and its parts that are code themselves. */
const codeForms = (word, forms) =>
  isCode(word) ? forms.filter((form, place) => !place || isCode(form)) : [];

class Asked {
  constructor({ words: known, rows, unit, leastLevels, clauses, headings }, asked) {
    Object.assign(this, { known, rows, unit, leastLevels, clauses, headings, ...asked });
  }

  /**
   * Returns the score of a chunk that has each telling word once, the share of it that comes from known words, and
   * whether the site has a word in code, and one that is a number such as 422.
   */
  weigh() {
    let [weight, known] = [0, 0];
    for (const { word, corrections, joined, divided } of this.words) {
      const read = divided.length ? divided : termsOf(corrections[0] ?? word);
      for (const term of joined ? [joined] : read) {
        const completion = word === this.unfinished && [...term].length > 1 && this.completions[0];
        const chunks = joined
          ? Math.max(this.known.identifier(joined)?.postings.rows.length ?? 0, this.#chunksWith(joined))
          : this.#chunksWith(term) || (completion ? this.#chunksWith(completion) : 0);
        const inverse = Math.log1p((this.rows - chunks + 0.5) / (chunks + 0.5));
        weight += inverse;
        if (chunks) known += inverse;
      }
    }
    const has_code = this.words.some(({ word, forms }) => codeForms(word, forms).some((form) => this.known.identifier(form)));
    const has_number = this.words.some(({ word }) => /^[0-9]{3,}$/.test(word) && this.known.find(word)?.chunks > 0);
    return { weight, known: weight ? known / weight : 0, has_code, has_number };
  }

  #chunksWith(term) {
    const found = this.known.find(term);
    return found ? Math.max(found.chunks, found.postings.rows.length) : 0;
  }

  /** Returns the scores of the rows that a mask allows, in parts of `unit`; 0 for a row without any of the words. */
  totals(mask) {
    const totals = new Float64Array(this.rows);
    for (const [term, factor] of this.#clauses()) {
      if (!term) continue;
      const { rows, impacts, weight } = term.postings;
      const least = term.stem ? this.leastLevels : 0; // not for identifiers
      for (let at = 0; at < rows.length; at++) {
        const level = impacts[at] & LEVEL; // 0 if only the heading has a stop word
        if (level) totals[rows[at]] += factor * weight * (level + least);
      }
    }
    if (mask) for (let row = 0; row < totals.length; row++) totals[row] *= mask[row];
    return totals;
  }

  /** Returns a mask: 1 for rows that have all words of the question, in their heading or anywhere; null if none of `among` has. */
  withAll(among, inHeading) {
    const { least, most } = this.headings;
    if (this.words.length < least || this.words.length > most) return null;
    let [wanted, counts] = [0, new Uint8Array(this.rows)];
    for (const { word, terms, corrections, divided } of this.words) {
      const read = divided.length ? divided : terms;
      const begun = word === this.unfinished && !read.some((term) => this.#chunksWith(term));
      const others = begun && !corrections.length ? this.completions : corrections;
      for (const some of others.length ? [others] : read.map((term) => [term])) {
        for (const { rows, impacts } of some.map((term) => this.known.find(term)?.postings).filter(Boolean))
          for (let at = 0; at < rows.length; at++)
            if ((!inHeading || impacts[at] & IN_HEADING) && counts[rows[at]] === wanted) counts[rows[at]] += 1;
        wanted += 1;
      }
    }
    const mask = counts.map((count) => +(count === wanted));
    return wanted && among.some((row) => mask[row]) ? mask : null;
  }

  *#clauses() {
    const tenths = (weight) => rounded(UNIT * weight, 0);
    const { name, correction, identifier, part, completion } = this.clauses;
    const find = (term, weight) => [this.known.find(term), tenths(weight)];
    for (const { word, terms, corrections, divided, forms, parts, joined } of this.words) {
      const factor = this.named.has(word) ? name : 1;
      for (const term of new Set([...terms, joined].filter(Boolean))) yield find(term, factor);
      for (const term of divided) yield find(term, factor);
      for (const term of corrections) yield find(term, factor * correction);
      const names = new Set([...forms, joined].filter(Boolean));
      for (const form of names) yield [this.known.identifier(form), tenths(factor * identifier)];
      for (const term of new Set(parts)) if (!terms.includes(term)) yield find(term, factor * part);
    }
    for (const term of this.completions) yield find(term, completion);
  }

  /**
   * Maps rows to ranks: 1 if the question is an identifier of the row, 2 if its heading, 3 if its title, 4 if its pin.
   * Titles and pins are compared with the text, its corrected words and the telling ones of these; the first one found
   * counts.
   */
  literalRanks(core, mask) {
    const ranks = new Map();
    const identifier = this.identifier && this.known.identifier(this.identifier);
    for (const row of identifier?.postings.rows ?? []) ranks.set(row, 1);
    for (const [place, text] of [this.text, ...this.#readings()].entries()) {
      const named = rowsNamed(text, core, !this.identifier).filter(([, rank]) => !place || rank >= TITLE);
      for (const [row, rank] of named) ranks.set(row, Math.max(rank, ranks.get(row) ?? 0));
      if (named.length) break;
    }
    if (mask) for (const row of ranks.keys()) if (!mask[row]) ranks.delete(row);
    return ranks;
  }

  /** Returns a mask as `withAll`; a heading that is the question without the site's name counts too. */
  headed(among, core) {
    const mask = this.withAll(among, true) ?? new Uint8Array(this.rows);
    for (const text of this.named.size ? this.#readings(this.named) : [])
      for (const [row] of rowsNamed(text, core, true)) mask[row] = 1;
    return among.some((row) => mask[row]) ? mask : null;
  }

  /** Returns the corrected words, and only the telling ones, without some. */
  #readings(without = new Set()) {
    const read = new Map(this.words.map(({ word, corrections: [other] }) => [word, other ?? word]));
    const text = (words) => words.filter((word) => !without.has(word)).map((word) => read.get(word) ?? word).join(" ");
    return [this.typed, this.telling].map(text);
  }

  /** The form of the identifier that is the question; undefined for other questions. */
  get identifier() {
    const [{ forms: [whole], joined } = { forms: [] }] = this.typed.length === 1 ? this.all : [];
    return joined ?? whole;
  }

  matcher() {
    const pairs = ["terms", "parts"].flatMap((name) => this.all.flatMap((item) => item[name].map((term) => [term, item.word])));
    const alone = pairs.filter((pair) => matchesAlone(...pair));
    const told = alone.filter(([term]) => this.known.find(term)?.telling ?? true);
    const others = alone.filter(([, word]) => this.words.some((item) => item.word === word));
    const telling = (told.length ? told : others).map(([term]) => term);
    const read = this.words.flatMap(({ corrections, divided }) => [...divided, ...corrections]);
    const stems = new Map();
    for (const term of [...telling, ...read]) {
      const found = this.known.find(term);
      if (found && !stems.has(found.stem)) stems.set(found.stem, found.words);
    }
    const ends = [this.unfinished, ...identifierParts(this.unfinished)].flatMap(termsOf);
    const last = ends.findLast((end) => matchesAlone(end, this.unfinished));
    return new Matcher(stems, last, wholeIdentifiers(this.typed, this.words.flatMap((item) => item.joined ?? [])));
  }
}
