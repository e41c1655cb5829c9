/* The search engine of sites without a server: a worker searches the static bundle and answers as the sidecar does. */

import { load } from "../load.js";
import { toAnswer } from "../search.js";
import { activeFilters, attempt } from "../state.js";

const ENGLISH = {
  mode_static: "Searching in your browser: what you type stays here.",
  mode_loading: "Matching words only, until the search by meaning is loaded…",
};
const PROBE = 1200; // milliseconds to wait for a sidecar
const LATEST = 30_000; // milliseconds after which its answer does not count on the next pages, either
const PATIENCE = 450; // milliseconds to wait for the search by meaning
const PAUSE = 10; // milliseconds without a key, after which the last word is fetched
const HURRY = 400; // milliseconds to wait for the texts of all results
let opened = null;

/** Returns `{ openIndex }` if no sidecar answers for this site, else `{ address }`, that of its index. */
export async function choose(config, root) {
  const isAuto = config.static === "auto";
  const address = config.api_url ?? (isAuto && "/-/semsearch");
  const index = isAuto ? await findIndex({ ...config, address }, root) : address ? "" : null;
  if (index !== null) return { address: address + index };
  opened ??= new StaticEngine(root);
  return { openIndex };
}

/**
 * Returns what the address of the sidecar needs for this site: nothing, or the name of one of several indexes; null if no
 * sidecar answers for this site. This is tested once per visit, because on a static host the request fails.
 */
async function findIndex({ address, site_url: site, version }, root) {
  const url = new URL(`${address}/api/v1/facets`, root);
  const key = `${url} ${site ?? ""} ${version ?? ""}`; // versions share the storage
  const known = attempt(() => sessionStorage.getItem(key));
  if (known) return JSON.parse(known);
  const asked = fetch(url, { signal: AbortSignal.timeout(LATEST) }).then(async (response) => {
    const found = indexFor(site, version, await response.json().catch(() => ({})));
    // 500 and above come from a proxy whose sidecar is down at the moment.
    if (response.status < 500 && response.status !== 429) attempt(() => sessionStorage.setItem(key, JSON.stringify(found)));
    return found;
  });
  const late = new Promise((done) => setTimeout(done, PROBE, null)); // an answer after this counts from the next page on
  return Promise.race([asked.catch(() => null), late]);
}

/**
 * Compares paths: every site and version on this host finds the same sidecar, but has its own index or none there.
 * `version` is there if the path does not tell the versions apart, as with mike's `canonical_version`.
 */
function indexFor(site, version, { facets, error, indexes, site_url: theirs }) {
  const path = (url) => new URL(url, location).pathname.replace(/\/*$/, "/");
  const isOurs = (url) => !site || (url && path(url) === path(site));
  if (indexes) {
    const [index, another] = indexes.filter(
      ({ name, site_url: url }) => (version ? name === version : site) && isOurs(url),
    );
    return index && !another ? `/${index.name}` : null;
  }
  return !version && (error?.code || (facets && (!theirs || isOurs(theirs)))) ? "" : null;
}

/** Opens the bundle of the site once. `mode` decides which note is shown with the answers. */
export function openIndex({ root, t, names, store }, mode = "static") {
  t.add(ENGLISH);
  opened ??= new StaticEngine(root);
  if (!opened.store) opened.follow({ names, store, mode });
  return opened;
}

class StaticEngine {
  #calls = new Map();
  #number = 0;

  constructor(root) {
    this.root = root;
    this.#start();
  }

  follow(parts) {
    Object.assign(this, parts);
    this.store.on(["query"], ({ query, answer }) => (answer?.engine ?? this) === this && this.#prepare(query));
  }

  /** `store` belongs to the box that asks; all boxes of a page share one engine. */
  async search(question, signal, store = this.store) {
    const given = { facets: this.names, ...question, filters: toFilters(question.filters) };
    const body = await this.#call("search", { ...given, patience: PATIENCE, hurry: HURRY }, signal);
    const answer = toAnswer(this, question, body);
    if (body.loading) answer.mode = "loading";
    if (body.loading || body.partial) this.#complete(answer, question, given, store).catch(() => {});
    return answer;
  }

  /** Fetches finished words while the reader is typing, and the last word when the reader pauses. */
  #prepare(query) {
    clearTimeout(this.pausing);
    if (query.trim().length > 2) this.pausing = setTimeout(() => this.#call("foresee", query).catch(() => {}), PAUSE);
    const [finished] = query.match(/^.*\S(?=\s)/s) ?? [];
    if (finished === this.finished) return;
    this.finished = finished;
    if (finished) this.#call("prepare", finished).catch(() => {}); // the search reports the error
  }

  /** Replaces an answer from before all files had arrived: by words alone, or with the first results only. */
  async #complete(answer, question, given, store) {
    const whole = toAnswer(this, question, await this.#call("search", given));
    const { answer: shown, walked } = store.state;
    const same = shown === answer;
    // One that the reader has extended has the same facets.
    if (shown?.facets !== answer.facets || shown.mode !== answer.mode) return;
    if (answer.mode !== "loading") return void (same && store.set({ answer: whole }));
    // A reader who has moved in the list is only told that better results are there.
    store.set(walked || !same ? { better: whole, mode: "better" } : { answer: whole, mode: whole.mode, active: 0 });
  }

  /** Returns a page of an answer with all its sections. */
  page(path) {
    return this.#call("page", path);
  }

  facets() {
    return this.#call("facets");
  }

  #call(call, argument, signal) {
    return new Promise((resolve, reject) => {
      const id = this.#number++;
      const message = { id, call, argument };
      const give = (error) => this.#calls.delete(id) && reject(error);
      this.#calls.set(id, { message, resolve, reject });
      signal?.addEventListener("abort", () => give(signal.reason), { once: true });
      this.post(message);
    });
  }

  #start() {
    const take = ({ data: { id, value, error } }) => {
      const { resolve, reject } = this.#calls.get(id) ?? {};
      this.#calls.delete(id);
      if (error) reject?.(Object.assign(new Error(error.message), error));
      else resolve?.(value);
    };
    const worker = window.semsearch?.ahead?.(); // a page of plain HTML may be without the loader
    if (!worker || worker.broken) return this.#stay(take);
    worker.postMessage({ root: this.root.href, cache: "default" }); // the loader has just fetched the pointer
    worker.onmessage = take;
    worker.onerror = () => this.#stay(take);
    this.post = (message) => worker.postMessage(message);
  }

  /** Searches on the page's own thread, if workers are forbidden or the assets are on another host. */
  #stay(take) {
    let answering = null;
    const open = async () => {
      try {
        const { createAnswering } = await load(import.meta.resolve("./answering.js"));
        return createAnswering(this.root);
      } catch ({ message }) {
        answering = null; // the next question tries again
        return () => ({ error: { message } });
      }
    };
    this.post = async (message) => {
      const answer = await (answering ??= open());
      take({ data: { id: message.id, ...(await answer(message)) } });
    };
    for (const { message } of this.#calls.values()) this.post(message);
  }
}

/** Returns the filters in the form of the API. */
function toFilters(filters) {
  return activeFilters(filters).map(([field, filter]) => {
    if (!Array.isArray(filter)) return { op: "range", field, min: filter.min || null, max: filter.max || null };
    return filter.length > 1 ? { op: "in", field, values: filter } : { op: "equals", field, value: filter[0] };
  });
}
