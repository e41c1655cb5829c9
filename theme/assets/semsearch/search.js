/* Asks the sidecar; while it is gone, the theme's own index. A stale answer never replaces a newer one. */

import { activeFilters, appendFilters, questionKey } from "./state.js";

const DEBOUNCE = 180;
const TIMEOUT = 1500;
const PATIENCE = 10000; // where nobody waits

/** The HTTP API, by GET, which can be cached. */
class Client {
  constructor(url, facets) {
    this.url = url.href.replace(/\/$/, "");
    this.facets = facets;
  }

  /** Three sections a page are shown; the fourth says that there is more. */
  async search({ query, filters, ...options }, timeout = PATIENCE, signal = undefined) {
    const given = { q: query.trim(), granularity: "page", sections_per_page: 4, ...options };
    if (this.facets.length) given.facets = this.facets;
    const body = await this.get(`search?${appendFilters(new URLSearchParams(given), filters)}`, timeout, signal);
    const results = body.results.map((result) => ({ ...result, sections: result.sections.map(withUnits) }));
    return { query, results, total: body.total_results, facets: body.facets ?? {}, degraded: body.degraded };
  }

  async get(path, timeout = PATIENCE, signal = undefined) {
    const late = AbortSignal.timeout(timeout);
    const response = await fetch(`${this.url}/api/v1/${path}`, { signal: AbortSignal.any([late, signal ?? late]) });
    const { status, statusText, ok, headers } = response;
    if (ok) return response.json();
    const { error } = await response.json().catch(() => ({}));
    throw Object.assign(new Error(error?.message ?? statusText), { status, wait: headers.get("Retry-After") });
  }
}

/** From code points to UTF-16 units. */
function withUnits(section) {
  const points = [...section.excerpt];
  const unit = (point) => points.slice(0, point).join("").length;
  return { ...section, highlights: section.highlights.map((range) => range.map(unit)) };
}

export class Search {
  #timer = 0;
  #retryTimer = 0;
  #attempts = 0;
  #ticket = 0;
  #request = new AbortController();
  #down = false;

  /** `root`: the site with the fallback, or false. */
  constructor(store, url, root, report) {
    this.store = store;
    this.client = new Client(
      url,
      store.state.fields.map(({ name }) => name),
    );
    this.root = root;
    this.report = report;
    addEventListener("online", () => this.#down && this.#retry());
  }

  /** To be called when query or filters change. */
  ask(delay = DEBOUNCE) {
    clearTimeout(this.#timer);
    if (this.store.state.query.trim()) this.#timer = setTimeout(() => this.#run(), delay);
    else {
      this.#supersede();
      this.store.set({ answer: null, nearest: [], busy: false, active: -1 });
    }
  }

  /** For the start view; also warms the connection. */
  async loadFields() {
    const { fields } = this.store.state;
    if (!fields.length || fields.some(({ values }) => values)) return;
    try {
      const { facets = fields } = await this.client.get("facets");
      this.store.set({ fields: facets });
    } catch (error) {
      if (!this.#down && this.store.state.open) this.#lose(error);
    }
  }

  /** The next ten pages. */
  async more() {
    const { answer, filters } = this.store.state;
    const next = await this.#again({ query: answer.query, filters, offset: answer.results.length });
    if (next && this.store.state.answer === answer)
      this.store.set({ answer: { ...answer, results: [...answer.results, ...next.results] } });
  }

  /** All sections of one page of the answer. */
  async expand(path) {
    const { answer, filters } = this.store.state;
    const question = { query: answer.query, filters: { ...filters, "page.path": [path] }, sections_per_page: 10 };
    const found = answer.source ? null : await this.#again(question);
    if (this.store.state.answer !== answer) return;
    const results = answer.results.map((result) =>
      result.page.path === path
        ? { ...result, sections: found?.results[0]?.sections ?? result.sections, expanded: true }
        : result,
    );
    this.store.set({ answer: { ...answer, results } });
  }

  /** The dialog closed. */
  rest() {
    this.#supersede();
    clearTimeout(this.#timer);
    clearTimeout(this.#retryTimer);
    this.#attempts = 0;
    this.#down = false;
    this.store.set({ busy: false });
  }

  #supersede() {
    this.#request.abort();
    this.#request = new AbortController();
    return ++this.#ticket;
  }

  #again(question) {
    const { source } = this.store.state.answer;
    return (source ? source.search(question) : this.client.search(question)).catch((error) => this.#reportError(error));
  }

  #reportError({ message, status = 0 }) {
    this.report("error", { message, status });
  }

  async #run() {
    const ticket = this.#supersede();
    const question = this.store.state;
    this.store.set({ busy: true });
    if (this.#down) return this.#fallBack(ticket);
    let answer;
    try {
      answer = await this.client.search(pick(question), TIMEOUT, this.#request.signal);
    } catch (error) {
      if (ticket !== this.#ticket) return;
      // A wrong request is no reason to give the sidecar up.
      if (error.status !== 422) return this.#lose(error);
      this.#reportError(error);
      return this.#fallBack(ticket);
    }
    if (ticket !== this.#ticket) return;
    this.#show(answer);
    if (!answer.results.length) this.#findNearest(ticket, question);
  }

  #show(answer) {
    const mode = answer.source ? "fallback" : answer.degraded ? "degraded" : "online";
    this.store.set({ answer, mode, nearest: [], busy: false, active: -1 });
    this.report("results", { query: answer.query, total: answer.total, mode });
  }

  /** What comes closest without filters, quotes, literal words. */
  async #findNearest(ticket, { query, filters }) {
    const question = { query: query.replaceAll('"', " "), filters: {}, limit: 3 };
    if (!question.query.trim()) return;
    if (!activeFilters(filters).length) question.mode = "semantic";
    const found = await this.client.search(question).catch(() => null);
    if (ticket === this.#ticket && found) this.store.set({ nearest: found.results });
  }

  #lose(error) {
    this.#reportError(error);
    this.#down = true;
    this.#retryLater(error.wait);
    if (this.store.state.query.trim()) this.#fallBack(this.#ticket);
    else this.store.set({ mode: this.root ? "fallback" : "offline" });
  }

  async #fallBack(ticket) {
    let answer = null;
    try {
      const { openIndex } = await import("./fallback.js");
      const index = await openIndex(this.root);
      answer = await index.search(pick(this.store.state));
    } catch {
      // Not wanted, or there is no index.
    }
    if (ticket !== this.#ticket) return;
    if (answer) this.#show(answer);
    else this.store.set({ mode: "offline", busy: false });
  }

  #retryLater(wait) {
    clearTimeout(this.#retryTimer);
    const seconds = Math.max(Math.min(2 ** this.#attempts++, 30), +wait || 0);
    this.#retryTimer = setTimeout(() => this.#retry(), 1000 * seconds);
  }

  async #retry() {
    const asked = pick(this.store.state);
    const empty = !asked.query.trim();
    let found;
    try {
      found = await (empty ? this.client.get("facets") : this.client.search(asked));
    } catch ({ wait }) {
      if (this.#down) this.#retryLater(wait);
      return;
    }
    if (!this.#down) return;
    this.#down = false;
    this.#attempts = 0;
    // A reader who walks the list is not interrupted.
    if (empty || questionKey(asked) !== questionKey(this.store.state)) this.store.set({ mode: "online" });
    else if (this.store.state.active < 0) this.#show(found);
    this.loadFields();
  }
}

const pick = ({ query, filters }) => ({ query, filters });
