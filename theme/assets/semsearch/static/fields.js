/* Fields of pages and chunks: how filters become masks, and how values are counted. See searching/columns.py. */

const PAGE_FIELDS = {
  __proto__: null, // a filter may be called `constructor`
  "page.path": "string",
  "page.url": "string",
  "page.title": "string",
  "page.section": "string",
  "page.kind": "string",
  "page.language": "string",
  "page.languages": "list",
  "page.primary_language": "string",
  "page.file_size": "integer",
  "page.chunk_count": "integer",
  "page.last_modified": "date",
  "page.content_hash": "string",
};
const CHUNK_FIELDS = {
  __proto__: null,
  "chunk.kind": "string",
  "chunk.language": "string",
  "chunk.node_type": "list",
  "chunk.node_name": "list",
  "chunk.parent_context": "list",
  "chunk.scope_depth": "integer",
  "chunk.definitions": "list",
  "chunk.references": "list",
  "chunk.has_references": "boolean",
};
/** Fields that are stored under another name. */
const STORED = {
  node_type: "node_types",
  node_name: "node_names",
  parent_context: "parent_contexts",
  has_references: "references",
};

/** The values of a field and the pairs of row and value. Rows are pages, or chunks if `ofChunks` is set. */
class Column {
  constructor(name, type, { rows, values, entryRows, entryCodes, ofChunks = false }) {
    Object.assign(this, { name, type, rows, values, entryRows, entryCodes, ofChunks });
  }

  /** Makes a column from a value, a list of values or null for each row. */
  static of(name, type, items, ofChunks = false) {
    const codes = new Map();
    const [entryRows, entryCodes] = [[], []];
    items.forEach((item, row) => {
      for (const value of new Set([item].flat())) {
        if (value == null) continue;
        if (!codes.has(value)) codes.set(value, codes.size);
        entryRows.push(row);
        entryCodes.push(codes.get(value));
      }
    });
    return new Column(name, type, { rows: items.length, values: [...codes.keys()], entryRows, entryCodes, ofChunks });
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
      default:
        throw wrong(`'${op}' is no filter: it must be one of equals, in, range, exists, prefix.`);
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

  /** Declared facets are in the core; all other fields of pages and chunks are in a separate file. */
  async #build(name) {
    const { facets, pages: rows } = this.bundle.pointer;
    const number = facets.findIndex((facet) => facet.name === name);
    if (number >= 0) {
      const part = (what) => `facet_${number}_${what}`;
      const [entryRows, entryCodes] = [part("rows"), part("codes")].map((block) => this.core.array(block));
      const values = this.core.json(part("values")) ?? [];
      return new Column(name, facets[number].type, { rows, values, entryRows, entryCodes });
    }
    const blocks = await this.bundle.read("fields.bin");
    const key = name.slice(name.indexOf(".") + 1);
    if (CHUNK_FIELDS[name]) {
      const stored = blocks.json(`chunk_${STORED[key] ?? key}`);
      const values = key === "has_references" ? stored.map((names) => names.length > 0) : stored;
      return Column.of(name, CHUNK_FIELDS[name], values, true);
    }
    const pages = blocks.json("pages");
    if (PAGE_FIELDS[name])
      return Column.of(
        name,
        PAGE_FIELDS[name],
        pages.map((page) => page[key]),
      );
    return frontMatter(
      name,
      pages.map((page) => page.frontmatter),
    );
  }
}

/** Makes the column of a field that the configuration does not declare; its values decide its type. */
function frontMatter(name, pages) {
  const isMapping = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const values = pages.map((page) => {
    if (Object.hasOwn(page, name)) return page[name];
    const value = name
      .split(".")
      .reduce((found, key) => (isMapping(found) && Object.hasOwn(found, key) ? found[key] : null), page);
    return isMapping(value) ? null : value;
  });
  const kinds = new Set(
    values.filter((value) => value !== null).map((value) => (Array.isArray(value) ? "list" : typeof value)),
  );
  const isOne = kinds.size === 1 && (kinds.has("boolean") || kinds.has("number"));
  const type = kinds.has("list") ? "list" : isOne ? [...kinds][0] : "string";
  const isText = type === "string" || type === "list";
  const plain = (value) => (value === null || typeof value === "object" ? null : isText ? `${value}` : value);
  return Column.of(
    name,
    type,
    values.map((value) => (Array.isArray(value) ? value.map(plain) : plain(value))),
  );
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
  if (!ends.length) throw wrong(`The range on '${field}' has neither min nor max: give at least one.`);
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
  wrong(`${field} is of type ${type}: '${value}' is not ${WANTED[type] ?? "text"}.`);

const wrong = (message) => Object.assign(new Error(message), { status: 422 });
