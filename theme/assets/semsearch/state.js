/* The one state object; everything on screen is a function of it. Its query and filters live in the URL fragment. */

const INITIAL = {
  open: false,
  query: "",
  filters: {}, // {tags: ["security"], year: {min: "2023", max: ""}}
  fields: [], // facet fields with the values of the whole site
  busy: false,
  answer: null, // on screen: {query, results, total, facets, source}
  nearest: [], // weaker hits when the answer is empty
  mode: "online", // online | degraded | fallback | offline
  active: -1, // the active option; -1: none, the reader is in the field
};

/** Holds the state; `set` merges a patch and calls every subscriber with (state, previous). */
export class Store {
  #subscribers = [];

  constructor(patch) {
    this.state = Object.freeze({ ...INITIAL, ...patch });
  }

  set(patch) {
    const previous = this.state;
    this.state = Object.freeze({ ...previous, ...patch });
    for (const subscriber of this.#subscribers) subscriber(this.state, previous);
  }

  /** Calls `render(state, previous)` now and whenever one of the named parts changes. */
  on(names, render) {
    this.#subscribers.push((state, previous) => {
      if (names.some((name) => state[name] !== previous[name])) render(state, previous);
    });
    render(this.state, this.state);
  }
}

/** The filters that say something. */
export const activeFilters = (filters) =>
  Object.entries(filters).filter(([, filter]) => filter?.length || filter?.min || filter?.max);

/** The filters with `value` of `field` switched on or off. */
export function toggled(filters, field, value, on) {
  const others = (filters[field] ?? []).filter((item) => item !== value);
  return { ...filters, [field]: on ? [...others, value] : others };
}

/** Writes filters as the HTTP API's query parameters. */
export function appendFilters(params, filters) {
  for (const [field, filter] of activeFilters(filters)) {
    if (Array.isArray(filter)) filter.forEach((value) => params.append(`f.${field}`, value));
    else for (const end of ["min", "max"]) if (filter[end]) params.append(`f.${field}.${end}`, filter[end]);
  }
  return params;
}

function parseFilters(params) {
  const filters = {};
  for (const [name, value] of params) {
    const [, field, end] = /^f\.(.+?)(?:\.(min|max))?$/.exec(name) ?? [];
    if (field) filters[field] = end ? { ...filters[field], [end]: value } : [...(filters[field] ?? []), value];
  }
  return filters;
}

/** Equal for equal questions. */
export const questionKey = ({ query, filters }) =>
  `${appendFilters(new URLSearchParams({ semsearch: query.trim() }), filters)}`;

/** The search that the address bar holds, or null. */
export function sharedSearch() {
  if (!location.hash.startsWith("#semsearch=")) return null;
  const params = new URLSearchParams(location.hash.slice(1));
  return { query: params.get("semsearch").slice(0, 1000), filters: parseFilters(params) };
}

/**
 * Keeps the address bar in step. On a phone opening adds a history entry, so that Back closes the dialog; elsewhere
 * the entry is rewritten, and put back on closing.
 */
export class Address {
  #before = "";
  #pushed = false;

  enter(push) {
    const shared = sharedSearch();
    this.#before = shared ? "" : location.hash;
    this.#pushed = push && !shared;
    if (this.#pushed) history.pushState(history.state, "", "#semsearch=");
  }

  update(search) {
    const nothing = !search.query.trim() && !activeFilters(search.filters).length;
    this.#replace(nothing ? (this.#pushed ? "#semsearch=" : this.#before) : `#${questionKey(search)}`);
  }

  /** The reader closed the dialog, not by Back. */
  leave() {
    if (!sharedSearch()) return;
    if (this.#pushed) history.back();
    else this.#replace(this.#before);
  }

  /** A result on this very page was chosen: what follows is a jump within it. */
  restore() {
    this.#replace(this.#before);
  }

  #replace(hash) {
    if (hash !== location.hash) history.replaceState(history.state, "", location.pathname + location.search + hash);
  }
}
