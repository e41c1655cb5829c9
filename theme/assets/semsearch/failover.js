/* Chooses the engine that answers while the sidecar is missing or slow, and tries the sidecar again. Loaded when needed. */

import { load } from "./load.js";
import { pick } from "./search.js";
import { isQuestion, questionKey } from "./state.js";

const LONGEST_WAIT = 30; // seconds
const ENGLISH = {
  mode_reserve: "Searching in your browser: the search service is not answering. Trying again…",
  mode_fallback: "Basic search without filters: the search service is not answering. Trying again…",
  mode_building: "The search index is not built yet. Its results will follow…",
  mode_slow: "The search service is slow: these results come from your browser. Better ones will follow…",
};

export class Failover {
  #timer = 0;
  #attempts = 0;

  constructor(search) {
    this.search = search;
    search.t.add(ENGLISH);
    const { config, first } = search;
    const inBrowser = config.static && first.mode === "online";
    this.reserves = [inBrowser && "./static/engine.js", config.fallback !== false && "./fallback.js"].filter(Boolean);
    this.usual = inBrowser ? "reserve" : this.reserves.length ? "fallback" : "offline";
    this.mode = this.usual;
    addEventListener("online", () => search.down && this.#retry());
  }

  /** Returns the answer of the first engine that has one, or null. */
  async answer(question, signal) {
    for (const module of this.reserves)
      try {
        const { openIndex } = await load(import.meta.resolve(module));
        const engine = await openIndex(this.search, this.mode);
        const found = await engine.search(question, signal, this.search.store);
        return this.mode === "building" ? { ...found, mode: this.mode } : found;
      } catch {
        // The site has no such index: try the next engine.
      }
    return null;
  }

  /** Tries again later. `wait` is the number of seconds that the sidecar requests. */
  retryLater({ wait, code }) {
    clearTimeout(this.#timer);
    this.mode = code === "no_index" ? "building" : this.usual;
    if (!this.search.store.state.open) return;
    this.search.down = true;
    const seconds = Math.max(Math.min(2 ** this.#attempts++, LONGEST_WAIT), +wait || 0);
    this.#timer = setTimeout(() => this.#retry(), 1000 * seconds);
  }

  /** Stops trying when the dialog has closed. */
  rest() {
    clearTimeout(this.#timer);
    this.#attempts = 0;
  }

  async #retry() {
    const { search } = this;
    const { store, first } = search;
    const asked = pick(store.state);
    const any = isQuestion(asked);
    let found;
    try {
      found = await (any ? search.askFirst(asked) : first.facets());
    } catch (error) {
      if (search.down) this.retryLater(error);
      return;
    }
    if (!search.down) return;
    const same = questionKey(asked) === questionKey(store.state);
    if (!same && isQuestion(store.state)) return this.#retry(); // the browser has answered what was typed meanwhile
    search.down = false;
    this.#attempts = 0;
    if (any && same) search.improve(found);
    else store.set({ mode: first.mode });
    search.loadFields();
  }
}
