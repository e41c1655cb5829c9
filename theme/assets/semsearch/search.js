/* Asks an engine. A stale answer never replaces a newer one. */

import { activeFilters, appendFilters } from "./state.js";

const DEBOUNCE = 180;
const LATE = 150; // most answers are not
const TIMEOUT = 1500;
const PATIENCE = 10000; // where nobody waits

/*
 * An engine has `search(question, signal)`, which answers {query, results, total, facets, mode, engine}: `facets` is
 * null where it knows none, `mode` one of the texts `mode_…`. The `first` has `facets()`, `page(path)`, `mode` too.
 */

/** The HTTP API, by GET, which can be cached. */
export class Sidecar {
  mode = "online";

  constructor({ config, root, names }) {
    this.url = new URL(config.api_url ?? "/-/semsearch", root).href.replace(/\/$/, "");
    this.names = names;
  }

  /** Three sections a page are shown; the fourth says that there is more. */
  async search({ query, filters, ...options }, signal, timeout = PATIENCE) {
    const given = { q: query.trim(), granularity: "page", sections_per_page: 4, ...options };
    if (this.names.length) given.facets = this.names;
    const body = await this.get(`search?${appendFilters(new URLSearchParams(given), filters)}`, signal, timeout);
    return toAnswer(this, query, body);
  }

  facets() {
    return this.get("facets");
  }

  /** A page with all its sections. */
  page(path) {
    return this.get(`pages/${path.split("/").map(encodeURIComponent).join("/")}`);
  }

  async get(path, signal, timeout = PATIENCE) {
    const late = AbortSignal.timeout(timeout);
    const response = await fetch(`${this.url}/api/v1/${path}`, { signal: AbortSignal.any([late, signal ?? late]) });
    const { status, statusText, ok, headers } = response;
    if (ok) return response.json();
    const { error } = await response.json().catch(() => ({}));
    throw Object.assign(new Error(error?.message ?? statusText), { status, wait: headers.get("Retry-After") });
  }
}

/** What the API answers, as the widget has it. */
export function toAnswer(engine, query, body) {
  const results = body.results.map((result) => ({ ...result, sections: result.sections.map(withUnits) }));
  const mode = body.degraded ? "degraded" : engine.mode;
  return { query, results, total: body.total_results, facets: body.facets ?? {}, mode, engine };
}

/** From code points to UTF-16 units. */
function withUnits(section) {
  const points = [...section.excerpt];
  const unit = (point) => points.slice(0, point).join("").length;
  return { ...section, highlights: section.highlights.map((range) => range.map(unit)) };
}

export class Search {
  #timer = 0;
  #ticket = 0;
  #request = new AbortController();
  down = false;

  constructor(parts) {
    Object.assign(this, parts);
  }

  /** For a new query or new filters. */
  ask(delay = DEBOUNCE) {
    clearTimeout(this.#timer);
    if (this.store.state.query.trim()) this.#timer = setTimeout(() => this.#run(), delay);
    else {
      this.#supersede();
      this.#settle({ answer: null, nearest: [], active: -1 });
    }
  }

  /** For the start view; also warms the connection. */
  async loadFields() {
    const { fields } = this.store.state;
    if (!fields.length || fields.some(({ values }) => values)) return;
    try {
      const { facets = fields } = await this.first.facets();
      this.store.set({ fields: facets });
    } catch (error) {
      if (this.down || !this.store.state.open) return;
      await this.#lose(error);
      if (!this.store.state.answer) this.store.set({ mode: this.ladder?.mode ?? "offline" });
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
    const found = answer.engine.page ? await this.#again(question) : null;
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
    this.#settle();
    this.ladder?.rest();
    this.down = false;
  }

  #settle(patch) {
    clearTimeout(this.#timer);
    this.store.set({ ...patch, busy: false });
  }

  #supersede() {
    this.#request.abort();
    this.#request = new AbortController();
    return ++this.#ticket;
  }

  #again(question) {
    return this.store.state.answer.engine.search(question).catch((error) => this.#reportError(error));
  }

  #reportError({ message, status = 0 }) {
    this.report("error", { message, status });
  }

  async #run() {
    const ticket = this.#supersede();
    const question = pick(this.store.state);
    this.#timer = setTimeout(() => this.store.set({ busy: true }), LATE);
    if (!this.down)
      try {
        const answer = await this.first.search(question, this.#request.signal, TIMEOUT);
        if (ticket !== this.#ticket) return;
        this.show(answer);
        if (!answer.results.length) this.#findNearest(ticket, question);
        return;
      } catch (error) {
        if (ticket !== this.#ticket) return;
        await this.#lose(error);
      }
    const ladder = await this.#ladder();
    const answer = await ladder?.answer(question, this.#request.signal);
    if (ticket !== this.#ticket) return;
    if (answer) this.show(answer);
    else this.#settle({ mode: "offline" });
  }

  show(answer) {
    const { mode } = answer;
    this.#settle({ answer, mode, nearest: [], active: -1 });
    this.report("results", { query: answer.query, total: answer.total, mode });
  }

  /** What comes closest without filters, quotes, literal words. */
  async #findNearest(ticket, { query, filters }) {
    const question = { query: query.replaceAll('"', " "), filters: {}, limit: 3 };
    if (!question.query.trim()) return;
    if (!activeFilters(filters).length) question.mode = "semantic";
    const found = await this.first.search(question).catch(() => null);
    if (ticket === this.#ticket && found) this.store.set({ nearest: found.results });
  }

  async #lose(error) {
    this.#reportError(error);
    // A wrong request is no reason to give the sidecar up.
    if (error.status !== 422) (await this.#ladder())?.retryLater(error.wait);
  }

  /** Null where the site is gone too. */
  async #ladder() {
    const { Ladder } = await import("./ladder.js").catch(() => ({}));
    return (this.ladder ??= Ladder ? new Ladder(this) : null);
  }
}

export const pick = ({ query, filters }) => ({ query, filters });
