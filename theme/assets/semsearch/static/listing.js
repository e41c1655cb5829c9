/* Lists the pages that pass filters, and sorts results by day. Loaded when a question is empty or wants the newest first. */

/** Returns the pages that pass filters, newest first: the answer to an empty question. See searching/listing.py. */
export async function browse(searcher, { filters, facets, started, limit = 10, offset = 0, sections_per_page = 3, sort }) {
  if (!filters.length) throw Object.assign(new Error("The query is empty: type at least one word."), { status: 422 });
  const { boost, bundle, fields, pageOf, sectionOf } = searcher;
  const day = fields.column(sort === "newest" ? "page.last_modified" : "date");
  const [mask, date] = await Promise.all([searcher.filtered(filters), day]);
  const sections = new Map();
  let last = -1;
  for (const row of searcher.rowsOf(mask)) {
    const page = pageOf[row];
    if (!sections.has(page)) sections.set(page, []);
    if (sectionOf[row] !== last) sections.get(page).push(row);
    last = sectionOf[row];
  }
  const days = date.days();
  const boosted = (a, b) => boost.length && boost[b] - boost[a];
  const order = (a, b) => later(days[b], days[a]) || boosted(a, b) || a - b;
  const pages = [...sections.keys()].sort(order).slice(offset, offset + limit);
  const unscored = { score: 0, scores: { semantic: null, lexical: null } };
  const listed = { matcher: { stemsIn: () => [] }, rowOf: (row) => row, scoresOf: () => unscored };
  const [results, counts] = await Promise.all([
    searcher.write(pages.map((page) => ({ score: 0, sections: sections.get(page) })), sections_per_page, listed),
    Promise.all(facets.map(async (name) => searcher.countRows(name, searcher.rowsOf(await searcher.filteredBut(name, filters))))),
  ]);
  return {
    query: "",
    mode: "browse",
    granularity: "page",
    build_id: bundle.pointer.build_id,
    took_ms: +(performance.now() - started).toFixed(3),
    total_results: sections.size,
    weaker_results: 0,
    filters_applied: filters,
    facets: Object.fromEntries(facets.map((name, at) => [name, counts[at]])),
    results,
  };
}

/** Orders matches and weaker results by the day of their last change, newest first. */
export async function sortByDay({ fields }, found) {
  const days = (await fields.column("page.last_modified")).days();
  const newest = (pages) => pages.sort((a, b) => later(days[b.page], days[a.page]));
  found.pages = [...newest(found.pages.slice(0, found.total)), ...newest(found.pages.slice(found.total))];
}

/** Compares two days: above 0 if the first is later. A missing day is before all others. */
const later = (day = "", other = "") => (day > other) - (day < other);
