/* The state behind everything on screen, and its form in the address of the page. */

const INITIAL = {
  open: false,
  query: "",
  filters: {}, // {tags: ["security"], year: {min: "2023", max: ""}}
  literal: false, // typos are not corrected
  fields: [], // all facets
  busy: false,
  answer: null, // see search.js
  nearest: [], // results that the filters hide
  better: null, // a better answer, while the reader is in the list
  mode: "online", // names a text mode_…
  active: -1, // the row, or -1
  walked: false, // the reader has moved to the active row
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

  /** Calls `render(state, previous)` now, and whenever one of the named values changes. */
  on(names, render) {
    this.#subscribers.push((state, previous) => {
      if (names.some((name) => state[name] !== previous[name])) render(state, previous);
    });
    render(this.state, this.state);
  }

  /** Calls `render(state)` once the change has been painted. */
  onPainted(names, render) {
    this.on(names, () => requestAnimationFrame(() => setTimeout(() => render(this.state))));
  }
}

export const activeFilters = (filters) =>
  Object.entries(filters).filter(([, filter]) => filter?.length || filter?.min || filter?.max);

export const countFilters = (filters) => activeFilters(filters).reduce((sum, [, { length = 1 }]) => sum + length, 0);

/** Returns the values of a filter; none if it is a range, as in an old link to a facet that was a number then. */
export const valuesOf = (filter) => (Array.isArray(filter) ? filter : []);

export function toggled(filters, field, value, on) {
  const others = valuesOf(filters[field]).filter((item) => item !== value);
  return { ...filters, [field]: on ? [...others, value] : others };
}

/** Returns the results in the list: those of the answer, or those that the filters hide. */
export const listed = ({ answer, nearest }) => (answer?.results.length ? answer.results : nearest);

/** Returns whether there is anything to search for: words, or filters to browse by. */
export const isQuestion = ({ query, filters }) => !!query.replaceAll('"', "").trim() || activeFilters(filters).length > 0;

/** Adds filters as the API's query parameters. */
export function appendFilters(params, filters) {
  for (const [field, filter] of activeFilters(filters)) {
    if (Array.isArray(filter)) filter.forEach((value) => params.append(`f.${field}`, value));
    else for (const end of ["min", "max"]) if (filter[end]) params.append(`f.${field}.${end}`, filter[end]);
  }
  return params;
}

function parseFilters(params) {
  const filters = Object.create(null); // a link may name a field "constructor"
  for (const [name, value] of params) {
    const [, field, end] = /^f\.(.+?)(?:\.(min|max))?$/.exec(name) ?? [];
    if (!field) continue;
    const values = valuesOf(filters[field]);
    filters[field] = end ? { ...(!values.length && filters[field]), [end]: value } : [...values, value];
  }
  return filters;
}

/** Writes a question as in URLs. Equal questions have equal keys. */
export const questionKey = ({ query, filters }, name = "semsearch") =>
  `${appendFilters(new URLSearchParams({ [name]: query.trim() }), filters)}`;

/** Returns whether two questions are the same; an answer has a copy of its question. */
export const sameQuestion = (one, other) =>
  one === other || (one && other && one.literal === other.literal && questionKey(one) === questionKey(other));

/** Reads the search in a part of a URL; null if there is none. */
export function parseSearch(text, name) {
  const params = new URLSearchParams(text);
  const query = params.get(name)?.slice(0, 1000);
  return query == null ? null : { query, filters: parseFilters(params) };
}

export const sharedSearch = () =>
  location.hash.startsWith("#semsearch=") ? parseSearch(location.hash.slice(1), "semsearch") : null;

/** Returns what `use` returns; null after an error, such as that of a storage which is full or which the browser forbids. */
export function attempt(use) {
  try {
    return use();
  } catch {
    return null;
  }
}

/** Keeps the address of the result that the reader opens and the length of the list, so that Back finds its row again. */
export const keepOpened = (search, href) =>
  attempt(() => sessionStorage.setItem(questionKey(search), `${listed(search).length} ${href}`));

/** Returns the result of a search that the reader opened last: its address, and how long the list was. Null if none was. */
export const openedFrom = (search) =>
  attempt(() => {
    const [length, href] = sessionStorage.getItem(questionKey(search)).split(" ");
    return { length, href };
  });

/** Returns the address of the page with another fragment; whole, since a path may begin with "//" and a page have a <base>. */
const withHash = (hash) => location.href.split("#")[0] + hash;

/** Keeps the search in the fragment. On a phone Back closes the dialog. */
export class Address {
  #before = "";
  #pushed = false;
  #leaving = false;

  enter(push) {
    const shared = sharedSearch();
    this.#before = shared ? "" : location.hash;
    this.#pushed = push && !shared;
    if (this.#pushed) history.pushState(history.state, "", withHash("#semsearch="));
  }

  update(search) {
    const start = this.#pushed ? "#semsearch=" : this.#before;
    this.#replace(isQuestion(search) ? `#${questionKey(search)}` : start);
  }

  /** Removes the search from the URL if the dialog was not closed with Back. */
  leave() {
    if (!sharedSearch()) return;
    this.#leaving = this.#pushed;
    if (this.#pushed) history.back();
    else this.#replace(this.#before);
  }

  /** Returns whether the browser has gone back because of `leave`. */
  hasLeft() {
    const left = this.#leaving;
    this.#leaving = false;
    return left;
  }

  /** Puts the old fragment back before a jump within the page; on a phone Back leads to the results first. */
  restore() {
    if (!this.#pushed) this.#replace(this.#before);
  }

  #replace(hash) {
    if (hash !== location.hash) history.replaceState(history.state, "", withHash(hash));
  }
}
