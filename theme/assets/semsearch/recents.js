/* Recent searches: kept in this browser only, removable one by one, and not kept at all if the reader says so. */

const LIMIT = 6;

/** Reads and writes the recent searches of one site; a browser that forbids storage simply has none. */
export class Recents {
  constructor(root, enabled = true) {
    this.key = `semsearch:${root.pathname}`;
    this.enabled = enabled;
  }

  #read() {
    try {
      const stored = JSON.parse(localStorage.getItem(this.key) ?? "{}");
      return { off: stored.off === true, queries: (stored.queries ?? []).filter((item) => typeof item === "string") };
    } catch {
      return { off: false, queries: [] };
    }
  }

  #write(value) {
    try {
      localStorage.setItem(this.key, JSON.stringify(value));
    } catch {
      // Storage is full or forbidden.
    }
  }

  get on() {
    return this.enabled && !this.#read().off;
  }

  get queries() {
    return this.on ? this.#read().queries : [];
  }

  add(query) {
    const text = query.trim();
    if (!text || !this.on) return;
    this.#write({ queries: [text, ...this.queries.filter((item) => item !== text)].slice(0, LIMIT) });
  }

  remove(query) {
    this.#write({ queries: this.queries.filter((item) => item !== query) });
  }

  clear() {
    this.#write({ queries: [] });
  }

  switch(on) {
    this.#write({ off: !on, queries: [] });
  }
}
