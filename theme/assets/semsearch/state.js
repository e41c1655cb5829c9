/* The one state object. Everything on screen is a function of it. */

export const INITIAL = Object.freeze({
  open: false,
  query: "",
  filters: {}, // {tags: ["security"], year: {min: "2023", max: ""}}
  fields: [], // facet fields with the values of the whole site
  busy: false,
  answer: null, // the answer on screen: {query, results, total, facets, source}
  nearest: [], // weaker hits, when the answer is empty
  mode: "online", // online | degraded | fallback | offline
  active: -1, // index of the active option, -1 while the input is
});

/** Holds the state; `set` merges a patch and tells every subscriber (state, previous). */
export class Store {
  #subscribers = new Set();

  constructor(initial = {}) {
    this.state = Object.freeze({ ...INITIAL, ...initial });
  }

  set(patch) {
    const previous = this.state;
    this.state = Object.freeze({ ...previous, ...patch });
    for (const subscriber of this.#subscribers) subscriber(this.state, previous);
  }

  subscribe(subscriber) {
    this.#subscribers.add(subscriber);
    subscriber(this.state, this.state);
  }
}

const filled = (filter) => (Array.isArray(filter) ? filter.length > 0 : Boolean(filter?.min || filter?.max));

/** The filters that say something, in a stable order. */
export const activeFilters = (filters) => Object.entries(filters).filter(([, filter]) => filled(filter));

/** Returns the filters with `value` of `field` switched on or off. */
export function toggled(filters, field, value, on) {
  const chosen = (filters[field] ?? []).filter((item) => item !== value);
  return { ...filters, [field]: on ? [...chosen, value] : chosen };
}

/** Writes filters as the HTTP API's query parameters; the URL fragment uses the same names. */
export function appendFilters(params, filters) {
  for (const [field, filter] of activeFilters(filters)) {
    if (Array.isArray(filter)) filter.forEach((value) => params.append(`f.${field}`, value));
    else for (const end of ["min", "max"]) if (filter[end]) params.append(`f.${field}.${end}`, filter[end]);
  }
  return params;
}

/** Reads filters back from query parameters. */
export function parseFilters(params) {
  const filters = {};
  for (const [name, value] of params) {
    if (!name.startsWith("f.") || !value) continue;
    const range = /^f\.(.+)\.(min|max)$/.exec(name);
    if (range) filters[range[1]] = { min: "", max: "", ...filters[range[1]], [range[2]]: value };
    else filters[name.slice(2)] = [...(filters[name.slice(2)] ?? []), value];
  }
  return filters;
}

/** What makes two questions the same question. */
export const questionKey = ({ query, filters }) =>
  appendFilters(new URLSearchParams({ q: query.trim() }), filters).toString();
