/* The state, all of what is on screen, and its part in the URL fragment. */

const INITIAL = {
  open: false,
  query: "",
  filters: {}, // {tags: ["security"], year: {min: "2023", max: ""}}
  fields: [], // all facets
  busy: false,
  answer: null, // see search.js
  nearest: [], // weaker hits, when there is no result
  mode: "online", // which engine answers: mode_…
  active: -1, // the option, or -1
};

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

  /** Calls `render(state, previous)` now and when a named part changes. */
  on(names, render) {
    this.#subscribers.push((state, previous) => {
      if (names.some((name) => state[name] !== previous[name])) render(state, previous);
    });
    render(this.state, this.state);
  }

  /** Calls `render(state)` when the change is on screen. */
  onPainted(names, render) {
    this.on(names, () => requestAnimationFrame(() => setTimeout(() => render(this.state))));
  }
}

export const activeFilters = (filters) =>
  Object.entries(filters).filter(([, filter]) => filter?.length || filter?.min || filter?.max);

export const countFilters = (filters) => activeFilters(filters).reduce((sum, [, { length = 1 }]) => sum + length, 0);

export function toggled(filters, field, value, on) {
  const others = (filters[field] ?? []).filter((item) => item !== value);
  return { ...filters, [field]: on ? [...others, value] : others };
}

/** Adds filters as the API's query parameters. */
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

/** Equal for equal questions; also how they are written into addresses. */
export const questionKey = ({ query, filters }, name = "semsearch") =>
  `${appendFilters(new URLSearchParams({ [name]: query.trim() }), filters)}`;

/** The search in part of an address, or null. */
export function parseSearch(text, name) {
  const params = new URLSearchParams(text);
  const query = params.get(name)?.slice(0, 1000);
  return query == null ? null : { query, filters: parseFilters(params) };
}

export const sharedSearch = () =>
  location.hash.startsWith("#semsearch=") ? parseSearch(location.hash.slice(1), "semsearch") : null;

/** Keeps the address in step: on a phone in a history entry of its own, so that Back closes the dialog. */
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

  /** Closed, but not by Back. */
  leave() {
    if (!sharedSearch()) return;
    if (this.#pushed) history.back();
    else this.#replace(this.#before);
  }

  /** Before a jump within the page. */
  restore() {
    this.#replace(this.#before);
  }

  #replace(hash) {
    if (hash !== location.hash) history.replaceState(history.state, "", location.pathname + location.search + hash);
  }
}
