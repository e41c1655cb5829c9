/* Fields that are not declared as facets: those of pages and chunks, and front matter. Loaded with the first one. */

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

/** Returns the type of a field, and its parts of a column. */
export function readColumn(name, blocks) {
  const key = name.slice(name.indexOf(".") + 1);
  if (CHUNK_FIELDS[name]) {
    const stored = blocks.json(`chunk_${STORED[key] ?? key}`);
    const values = key === "has_references" ? stored.map((names) => names.length > 0) : stored;
    return [CHUNK_FIELDS[name], { ...partsOf(values), ofChunks: true }];
  }
  const pages = blocks.json("pages");
  if (PAGE_FIELDS[name]) return [PAGE_FIELDS[name], partsOf(pages.map((page) => page[key]))];
  const [type, values] = frontMatter(
    name,
    pages.map((page) => page.frontmatter),
  );
  return [type, partsOf(values)];
}

/** Returns the parts of a column. `items` has a value, a list of values or null for each row. */
function partsOf(items) {
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
  return { rows: items.length, values: [...codes.keys()], entryRows, entryCodes };
}

/** Returns the type of a field of front matter, which its values decide, and its value for each page. */
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
  return [type, values.map((value) => (Array.isArray(value) ? value.map(plain) : plain(value)))];
}
