/* Looks up words in the shards of a bundle: posting lists, corrections, completions, phrases; and matches words. */

import { load } from "../load.js";
import { varintReader } from "./bundle.js";
import { isAscii, termsOf } from "./text.js";

const BEFORE_SUFFIX = 3;
// Endings of forms with those of other forms of the same word, for stems that the suffix rules do not give.
const FORMS = [
  ["s", ""], ["es", ""], ["ies", "y"], ["ed", ""], ["ed", "e"], ["ed", "ing"], ["ing", ""], ["ing", "e"], ["ing", "ed"],
];
const CORRECTED_FROM = 4;
const TWO_TYPOS_FROM = 8;
const CORRECTIONS = 3;
const LONGEST_ABBREVIATION = 4;

/** A shard of words and identifiers with their posting lists. */
class TermShard {
  #lists = [];

  constructor(blocks) {
    this.blocks = blocks;
    this.keys = blocks.texts("keys");
    this.stems = blocks.texts("stems");
    this.list = blocks.array("list");
    this.place = new Map(this.keys.map((key, place) => [key, place]));
    this.sizes = blocks.array("sizes");
  }

  byKey(key) {
    const place = this.place.get(key);
    if (place === undefined) return null;
    const { blocks } = this;
    return this.#term(this.list[place], blocks.array("df")[place], !!blocks.array("telling")[place]);
  }

  byStem(stem) {
    const number = this.stems.indexOf(stem);
    return number < 0 ? null : this.#term(number, 0, true);
  }

  #term(number, chunks, telling) {
    const shard = this;
    return {
      stem: this.stems[number],
      chunks,
      telling,
      /** All words with the stem. The shard has all of them, including those outside its range. */
      get words() {
        return shard.keys.filter((_, place) => shard.list[place] === number);
      },
      get postings() {
        return shard.#postings(number);
      },
    };
  }

  /** Returns rows and scores of a list. The lists are stored one after the other without an index, so all are read at once. */
  #postings(number) {
    if (!this.#lists.length) {
      const next = varintReader(this.blocks.array("rows"));
      const impacts = this.blocks.array("impacts");
      let start = 0;
      this.sizes.forEach((size) => {
        this.#lists.push({ rows: summed(next, size), impacts: impacts.subarray(start, start + size) });
        start += size;
      });
    }
    return { ...this.#lists[number], weight: this.blocks.array("weights")[number] };
  }
}

/** Reads numbers that are stored as differences. */
export function summed(next, size) {
  let total = 0;
  return Uint32Array.from({ length: size }, () => (total += next()));
}

export class Words {
  #shards = new Map();

  /** `meaning` knows the tokens of the model; null in a bundle without them. */
  constructor(bundle, meaning) {
    Object.assign(this, { bundle, meaning });
  }

  /** Fetches the shards of words and identifiers. Must be called before `find` and `identifier`. */
  async load(words, identifiers = []) {
    const keys = [...new Set([...words, ...identifiers.map((form) => `=${form}`)])];
    await Promise.all(
      keys.map(async (key) => {
        if (this.#shards.has(key)) return;
        this.#shards.set(key, await this.bundle.shard("terms", key, (blocks) => new TermShard(blocks)));
      }),
    );
  }

  /** Finds a word, or its stem if the site lacks this form; null if it lacks both. */
  find(word) {
    const shard = this.#shards.get(word);
    const found = shard.byKey(word);
    if (found) return found;
    for (const [suffix, ending] of this.bundle.pointer.lexical.suffixes) {
      const rest = word.slice(0, word.length - suffix.length);
      const byStem = word.endsWith(suffix) && [...rest].length >= BEFORE_SUFFIX && shard.byStem(rest + ending);
      if (byStem) return byStem;
    }
    for (const [suffix, ending] of FORMS) {
      const other = word.endsWith(suffix) && shard.byKey(word.slice(0, word.length - suffix.length) + ending);
      if (other) return shard.byStem(other.stem);
    }
    return shard.byStem(word);
  }

  identifier(form) {
    return this.#shards.get(`=${form}`).byKey(`=${form}`);
  }

  /** Returns longer words that begin with `prefix`, those in most chunks first. */
  async beginningWith(prefix, limit) {
    const words = await this.#list(prefix);
    return ordered(words, ([word]) => word.startsWith(prefix) && word !== prefix, limit);
  }

  /**
   * Returns words one typo away from an unknown one, or two if it is long. First letter and digits must agree. A word
   * whose British or American spelling the site has is corrected to that. A token of the model is no typo, but a common
   * word that the site happens not to have. A word with which indexed words begin is corrected to one of these only; if
   * it is short, to the most frequent; if the reader may still be typing it (not `finished`), to none.
   */
  async corrections(word, finished = true) {
    const letters = [...word];
    if (letters.length < CORRECTED_FROM || /^\p{Nd}+$/u.test(word)) return [];
    const isToken = this.meaning?.hasToken(word).catch(() => false); // words are found without the files of meaning
    const limit = letters.length > LONGEST_ABBREVIATION ? Infinity : 1;
    const [longer, known, all] = await Promise.all([this.beginningWith(word, limit), isToken, this.#list(word)]);
    const { otherSpellings, typos } = await load(import.meta.resolve("./typos.js"));
    const spelt = otherSpellings(word).find((other) => all.some(([written]) => written === other));
    if (spelt) return [spelt];
    if (known || (longer.length && !finished)) return [];
    const words = longer.length ? all.filter(([other]) => longer.includes(other)) : all;
    const digits = digitsOf(word);
    const near = new Set();
    let nearest = letters.length >= TWO_TYPOS_FROM ? 2 : 1;
    for (const [other] of words) {
      if (!other.startsWith(letters[0]) || digitsOf(other) !== digits || !mayBeMeant(other, word)) continue;
      const distance = typos(letters, [...other], nearest);
      if (distance > nearest) continue;
      if (distance < nearest) near.clear();
      nearest = distance;
      near.add(other);
    }
    return ordered(words, ([other]) => near.has(other), CORRECTIONS);
  }

  /** Returns the parts of a compound; the script is loaded on sites in a language with compounds. */
  async divided(word, isPart, links) {
    if (!links.length) return [];
    const { divideCompound } = await load(import.meta.resolve("./compounds.js"));
    return divideCompound(word, isPart, links);
  }

  /** Returns the rows in which words follow each other. */
  async phraseRows(terms) {
    const { phraseRows } = await load(import.meta.resolve("./phrases.js"));
    return phraseRows(this.bundle, terms, { summed, varintReader });
  }

  /** Returns [word, number of chunks] of all words with the same first character, and perhaps of others. */
  #list(key) {
    return this.bundle.shard("words", key, (blocks) => {
      const counts = blocks.array("df");
      return blocks.texts("keys").map((word, place) => [word, counts[place]]);
    });
  }
}

/** Returns whether a word can be the correction of a term; of one with four letters, only some can, see `lexical/terms.py`. */
function mayBeMeant(word, term) {
  if (term.length > CORRECTED_FROM || !isAscii(term) || word.length > term.length || term === `${word}s`) return true;
  return [...word].sort().join() === [...term].sort().join();
}

const digitsOf = (word) => word.replace(/\P{Nd}/gu, "");

function ordered(words, holds, limit) {
  const found = words.filter(holds);
  found.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return found.slice(0, limit).map(([word]) => word);
}

/** Decides which words of a text match a question. */
export class Matcher {
  #stemOf = new Map();

  /** `stems` maps a stem to all words that have it. `last` may be unfinished: longer words that begin with it match too. */
  constructor(stems, last = "", whole = null) {
    this.whole = whole;
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
