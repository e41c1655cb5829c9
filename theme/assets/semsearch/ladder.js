/*
 * The sidecar is gone: which other engine answers, and when the sidecar is asked again. Loaded when that happens.
 */

import { pick } from "./search.js";
import { questionKey } from "./state.js";

const LONGEST_WAIT = 30;

export class Ladder {
  #timer = 0;
  #attempts = 0;

  constructor(search) {
    this.search = search;
    addEventListener("online", () => search.down && this.#retry());
  }

  /** The answer of the first engine that has one, or null. */
  async answer(question, signal) {
    const { reserves, root } = this.search;
    for (const module of reserves)
      try {
        const { openIndex } = await import(module);
        const engine = await openIndex(root);
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
    const { store, sidecar } = search;
    const asked = pick(store.state);
    const empty = !asked.query.trim();
    let found;
    try {
      found = await (empty ? sidecar.get("facets") : sidecar.search(asked));
    } catch ({ wait }) {
      if (search.down) this.retryLater(wait);
      return;
    }
    if (!search.down) return;
    search.down = false;
    this.#attempts = 0;
    // A reader who walks the list is not interrupted.
    if (empty || questionKey(asked) !== questionKey(store.state)) store.set({ mode: "online" });
    else if (store.state.active < 0) search.show(found);
    search.loadFields();
  }
}
