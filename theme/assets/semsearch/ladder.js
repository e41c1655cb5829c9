/*
 * The sidecar is gone: which other engine answers, and when the sidecar is asked again. Loaded when that happens.
 */

import { pick } from "./search.js";
import { questionKey } from "./state.js";

const LONGEST_WAIT = 30;
const ENGLISH = {
  mode_reserve: "Searching in your browser: the search service is not answering. Trying again…",
  mode_fallback: "Basic search without filters: the search service is not answering. Trying again…",
};

export class Ladder {
  #timer = 0;
  #attempts = 0;

  constructor(search) {
    this.search = search;
    search.t.add(ENGLISH);
    const { config, first } = search;
    const inBrowser = config.static && first.mode === "online";
    this.reserves = [inBrowser && "./static/engine.js", config.fallback !== false && "./fallback.js"].filter(Boolean);
    this.mode = inBrowser ? "reserve" : this.reserves.length ? "fallback" : "offline";
    addEventListener("online", () => search.down && this.#retry());
  }

  /** The answer of the first engine that has one, or null. */
  async answer(question, signal) {
    for (const module of this.reserves)
      try {
        const { openIndex } = await import(module);
        const engine = await openIndex(this.search, this.mode);
        return await engine.search(question, signal);
      } catch {
        // There is no such index: the next.
      }
    return null;
  }

  /** `wait`: what the sidecar asked for, in seconds. */
  retryLater(wait) {
    clearTimeout(this.#timer);
    if (!this.search.store.state.open) return;
    this.search.down = true;
    const seconds = Math.max(Math.min(2 ** this.#attempts++, LONGEST_WAIT), +wait || 0);
    this.#timer = setTimeout(() => this.#retry(), 1000 * seconds);
  }

  /** The dialog closed. */
  rest() {
    clearTimeout(this.#timer);
    this.#attempts = 0;
  }

  async #retry() {
    const { search } = this;
    const { store, first } = search;
    const asked = pick(store.state);
    const empty = !asked.query.trim();
    let found;
    try {
      found = await (empty ? first.facets() : first.search(asked));
    } catch ({ wait }) {
      if (search.down) this.retryLater(wait);
      return;
    }
    if (!search.down) return;
    search.down = false;
    this.#attempts = 0;
    // A reader who walks the list is not interrupted.
    if (empty || questionKey(asked) !== questionKey(store.state)) store.set({ mode: first.mode });
    else if (store.state.active < 0) search.show(found);
    search.loadFields();
  }
}
