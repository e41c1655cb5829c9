/* Fields of pages and chunks: how filters become masks, and how values are counted. See searching/columns.py. */

import { load } from "../load.js";

/** The values of a field and the pairs of row and value. Rows are pages, or chunks if `ofChunks` is set. */
class Column {
  constructor(name, type, { rows, values, entryRows, entryCodes, ofChunks = false }) {
    Object.assign(this, { name, type, rows, values, entryRows, entryCodes, ofChunks });
  }

  /** Returns a mask: 1 for the rows for which a filter holds. */
  mask(filter) {
    const holds = this.#test(filter);
    const chosen = this.values.map(holds);
    const mask = new Uint8Array(this.rows);
    this.entryRows.forEach((row, at) => chosen[this.entryCodes[at]] && (mask[row] = 1));
    return filter.negate ? mask.map((bit) => 1 - bit) : mask;
  }

  /** Counts pages by value: [{value, count}], most frequent first. `pageOf(row)` is undefined for rows that are not counted. */
  counts(pageOf) {
    const members = this.values.map(() => new Set());
    this.entryRows.forEach((row, at) => members[this.entryCodes[at]].add(pageOf(row)));
    for (const pages of members) pages.delete(undefined);
    const found = this.values.map((value, code) => ({ value, count: members[code].size })).filter(({ count }) => count);
    return found.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
  }

  /** Returns the date of each row as YYYY-MM-DD; the latest of several. */
  days() {
    const found = [];
    this.entryRows.forEach((row, at) => {
      const day = asDate(this.values[this.entryCodes[at]]);
      if (day && day > (found[row] ?? "")) found[row] = day;
    });
    return found;
  }

  #test({ op, value, values, ...filter }) {
    switch (op) {
      case "exists":
        return () => true;
      case "equals":
      case "in": {
        const wanted = new Set(
          [op === "in" ? values : value].flat().map((item) => readValue(item, this.type, this.name)),
        );
        return (item) => wanted.has(item);
      }
      case "prefix":
        return (item) => `${item}`.startsWith(value);
      case "range":
        return rangeTest(filter, this.type);
    }
  }
}

export class Fields {
  #columns = new Map();

  constructor(bundle, core) {
    this.bundle = bundle;
    this.core = core;
  }

  async column(name) {
    if (!this.#columns.has(name)) this.#columns.set(name, await this.#build(name));
    return this.#columns.get(name);
  }

  /** Declared facets are in the core, all other fields of pages and chunks in a separate file. */
  async #build(name) {
    const { facets, pages: rows } = this.bundle.pointer;
    const number = facets.findIndex((facet) => facet.name === name);
    if (number >= 0) {
      const part = (what) => `facet_${number}_${what}`;
      const [entryRows, entryCodes] = [part("rows"), part("codes")].map((block) => this.core.array(block));
      const values = this.core.json(part("values"));
      return new Column(name, facets[number].type, { rows, values, entryRows, entryCodes });
    }
    const [{ readColumn }, blocks] = await Promise.all([load(import.meta.resolve("./other_fields.js")), this.bundle.read("fields.bin")]);
    return new Column(name, ...readColumn(name, blocks));
  }
}

const READERS = { string: String, list: String, integer: asNumber, number: asNumber, date: asDate, boolean: asBoolean };
const WANTED = { integer: "a number", number: "a number", date: "a date (YYYY-MM-DD)", boolean: "true or false" };

function asNumber(value) {
  if (typeof value === "number") return value;
  const text = `${value}`.trim();
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) && Number.isFinite(+text) ? +text : null;
}

/** Returns a date as YYYY-MM-DD, which compares as text. */
function asDate(value) {
  const [, text] = /^\s*(\d{4}-\d\d-\d\d)(?:[T ].*)?\s*$/.exec(value) ?? [];
  const date = new Date(`${text}T00:00Z`);
  return text && !Number.isNaN(+date) && date.toISOString().startsWith(text) ? text : null;
}

function asBoolean(value) {
  return { true: true, false: false }[`${value}`.toLowerCase()] ?? null;
}

/** Throws an error for a value that does not have the field's type. */
function readValue(value, type, field) {
  const found = READERS[type](value);
  if (found === null) throw misfit(value, type, field);
  return found;
}

/** Returns a function that tests whether a value is in a range. Text compares like the ends: as numbers or dates. */
function rangeTest({ field, min, max }, type) {
  const ends = [min, max].filter((end) => end != null);
  const order = orderOf(type, ends);
  const [low, high] = [min, max].map((end) => (end == null ? null : order(end)));
  for (const end of ends) if (order(end) === null) throw misfit(end, type, field);
  if (low !== null && high !== null && low > high)
    throw wrong(`The range on ${field} goes from ${min} to ${max}: write the smaller end first.`);
  return (value) => {
    const place = order(value);
    return place !== null && (low === null || place >= low) && (high === null || place <= high);
  };
}

function orderOf(type, ends) {
  if (type !== "string" && type !== "list") return READERS[type];
  return [asNumber, asDate].find((reader) => ends.every((end) => reader(end) !== null)) ?? String;
}

const misfit = (value, type, field) =>
  wrong(`${field} is of type ${type}: '${value}' is not ${WANTED[type]}.`);

const wrong = (message) => Object.assign(new Error(message), { status: 422 });
