/* What a question's words score, in whole numbers, and which words of a text it meant. See static/lexical_side.py. */

import { identifierForms, identifierParts, isAscii, termsOf } from "./text.js";
import { Words } from "./words.js";

const WORD = 10;
const IDENTIFIER = 10;
const PART = 4;
const COMPLETION = 5;
const CORRECTION = 6;

const MAX_WORDS = 64;
const LOOK_UP_WORDS = 2; // up to so many, the last one may be the beginning of a longer one
const MAX_COMPLETIONS = 12;
const MAX_CORRECTED = 8;
const MAX_FORMS = 2;

export class Lexical {
  constructor(bundle) {
    this.words = new Words(bundle);
    this.rows = bundle.pointer.chunks;
    this.unit = bundle.pointer.lexical.unit;
  }

  /** Fetches what finished words need; returns them read. */
  async load(given) {
    const words = [...new Set(given)].slice(0, MAX_WORDS).map((word) => {
      const terms = termsOf(word);
      const parts = identifierParts(word).flatMap(termsOf);
      return { word, terms, parts, forms: identifierForms(word), corrections: [] };
    });
    const terms = words.flatMap((word) => [...word.terms, ...word.parts]);
    await this.words.load(terms, words.map(({ forms }) => forms.slice(0, MAX_FORMS)).flat());
    return words;
  }

  /** Fetches what the words of a question need; what it returns answers without waiting. */
  async read(question) {
    const words = await this.load(question.words);
    const single = words.filter(({ terms: [term, second] }) => term && second === undefined && !this.words.find(term));
    const correcting = single.slice(0, MAX_CORRECTED).map(async (item) => {
      item.corrections = await this.words.corrections(item.terms[0]);
    });
    const completing = question.phrases.length ? [] : this.#completions(words.at(-1), words.length > LOOK_UP_WORDS);
    const [completions] = await Promise.all([completing, ...correcting]);
    await this.words.load([...completions, ...words.flatMap(({ corrections }) => corrections)]);
    const typed = question.words.slice(0, MAX_WORDS);
    const last = typed.flatMap(termsOf).concat(typed.flatMap(identifierParts).flatMap(termsOf)).at(-1);
    return new Asked(this, { words, completions, last });
  }

  async #completions({ terms } = { terms: [] }, finished) {
    if (terms.length !== 1 || [...terms[0]].length < 2) return [];
    if (finished && this.words.find(terms[0])?.chunks) return [];
    return this.words.beginningWith(terms[0], MAX_COMPLETIONS);
  }

  /** 1 for the rows in which every phrase occurs, word for word; null without phrases. */
  async phraseMask(phrases) {
    if (!phrases.length) return null;
    const found = await Promise.all(phrases.map((phrase) => this.words.phraseRows(termsOf(phrase))));
    const held = new Uint16Array(this.rows);
    for (const row of found.flat()) held[row] += 1;
    return held.map((count) => count === phrases.length);
  }
}

class Asked {
  constructor({ words: known, rows, unit }, { words, completions, last }) {
    Object.assign(this, { known, rows, unit, words, completions, last });
  }

  /** The scores of the rows that a mask leaves, in parts of `unit`; 0 where no word stands. */
  totals(mask) {
    const totals = new Float64Array(this.rows);
    for (const [term, factor] of this.#clauses()) {
      if (!term) continue;
      const { rows, impacts, weight } = term.postings;
      for (let at = 0; at < rows.length; at++) totals[rows[at]] += factor * weight * impacts[at];
    }
    if (mask) for (let row = 0; row < totals.length; row++) totals[row] *= mask[row];
    return totals;
  }

  *#clauses() {
    const find = (term, factor) => [this.known.find(term), factor];
    for (const { terms, corrections, forms, parts } of this.words) {
      for (const term of new Set(terms)) yield find(term, WORD);
      for (const term of corrections) yield find(term, CORRECTION);
      for (const form of forms.slice(0, MAX_FORMS)) yield [this.known.identifier(form), IDENTIFIER];
      for (const term of new Set(parts)) if (!terms.includes(term)) yield find(term, PART);
    }
    for (const term of this.completions) yield find(term, COMPLETION);
  }

  /** The rows that hold the identifier that the question is. */
  identifierRows() {
    const [{ forms: [form] } = { forms: [] }] = this.words;
    const found = form === undefined ? null : this.known.identifier(form);
    return found ? found.postings.rows : [];
  }

  matcher() {
    const terms = this.words.flatMap(({ terms: words }) => words).concat(this.words.flatMap(({ parts }) => parts));
    const told = terms.filter((term) => this.known.find(term)?.telling ?? true);
    const telling = told.length ? told : terms;
    const found = [...telling, ...this.words.flatMap(({ corrections }) => corrections)].map((term) =>
      this.known.find(term),
    );
    const stems = new Map();
    for (const term of found) if (term && !stems.has(term.stem)) stems.set(term.stem, term.words);
    return new Matcher(stems, this.last);
  }
}

/** Tells which words of a text a question meant. */
class Matcher {
  #stemOf = new Map();

  /** `stems`: stem to all words of the site that have it. `last`: what it begins counts too, it may not be finished. */
  constructor(stems, last = "") {
    for (const [stem, words] of stems) for (const word of words) this.#stemOf.set(word, stem);
    this.last = [...last].length > 2 ? last : null;
  }

  stemsIn(word) {
    const lower = word.toLowerCase();
    const terms = isAscii(lower) && !lower.includes("_") ? [lower] : termsOf(word);
    const found = terms.map((term) => this.#stemOf.get(term)).filter((stem) => stem !== undefined);
    if (!found.length && this.last && lower.startsWith(this.last)) return [this.last];
    return found;
  }
}
