/*
 * Asking: debounce, abort, never a stale answer over a newer one, and what happens when the sidecar is gone: answers
 * from the theme's index, a quiet retry, and back.
 */

import { activeFilters, questionKey } from "./state.js";

const DEBOUNCE = 180;
const TIMEOUT = 1500;
const PATIENCE = 10000; // for a retry in the background, where nobody waits
const PAGE = 10;

/** Drives the store: `ask` after each change of query or filters. */
export class Search {
  #timer = 0;
  #retryTimer = 0;
  #attempts = 0;
  #ticket = 0;
  #request = null;
  #down = false;
  #answers = new Map();

  constructor(store, client, fallback, report) {
    this.store = store;
    this.client = client;
    this.fallback = fallback;
    this.report = report;
    addEventListener("online", () => this.#down && this.#retry());
  }

  /** Asks when typing settles, or at once. */
  ask(delay = DEBOUNCE) {
    clearTimeout(this.#timer);
    if (!this.store.state.query.trim()) return this.#clear();
    if (delay) this.#timer = setTimeout(() => this.#run(), delay);
    else this.#run();
    return undefined;
  }

  /** The facet fields of the whole site, for the start view; also warms the connection. */
  async loadFields() {
    if (this.store.state.fields.some(({ values }) => values?.length)) return;
    try {
      this.store.set({ fields: await this.client.fields({ timeout: PATIENCE }) });
    } catch (error) {
      if (!this.#down && this.store.state.open) this.#lose(error);
    }
  }

  /** The next ten pages. */
  async more() {
    const { answer } = this.store.state;
    const offset = answer.results.length;
    const next = await this.#from(answer.source, { ...this.#question(), query: answer.query, offset });
    if (next && this.store.state.answer === answer)
      this.store.set({ answer: { ...answer, results: [...answer.results, ...next.results] }, active: offset ? this.store.state.active : -1 });
  }

  /** All matching sections of one page of the answer. */
  async expand(path) {
    const { answer, filters } = this.store.state;
    const question = { query: answer.query, filters: { ...filters, "page.path": [path] }, limit: 1, sections: 10 };
    const found = answer.source === "sidecar" ? await this.#from("sidecar", question) : null;
    if (this.store.state.answer !== answer) return;
    const results = answer.results.map((result) =>
      result.page.path === path ? { ...(found?.results[0] ?? result), page: result.page, expanded: true } : result,
    );
    this.store.set({ answer: { ...answer, results } });
  }

  /** The dialog closed: nothing may go on in the background. */
  rest() {
    clearTimeout(this.#timer);
    clearTimeout(this.#retryTimer);
    this.#request?.abort();
    this.#ticket += 1;
    this.#attempts = 0;
    this.#down = false;
    this.store.set({ busy: false });
  }

  #question() {
    const { query, filters } = this.store.state;
    return { query, filters };
  }

  #clear() {
    this.#request?.abort();
    this.#ticket += 1;
    this.store.set({ answer: null, nearest: [], busy: false, active: -1 });
  }

  async #from(source, question) {
    try {
      if (source === "fallback") return await this.fallback.search(question);
      return await this.client.search(question, { timeout: PATIENCE });
    } catch (error) {
      this.report.error(error);
      return null;
    }
  }

  async #run() {
    const ticket = (this.#ticket += 1);
    this.#request?.abort();
    const request = (this.#request = new AbortController());
    const question = this.#question();
    const known = this.#answers.get(questionKey(question));
    this.store.set({ busy: !known });
    if (this.#down) return this.#answerBy(ticket, question);
    let answer = known;
    try {
      answer ??= await this.client.search(question, { signal: request.signal, timeout: TIMEOUT });
    } catch (error) {
      if (ticket !== this.#ticket) return undefined;
      if (!error.permanent) return this.#lose(error);
      this.report.error(error);
      return this.#answerBy(ticket, question, error);
    }
    if (ticket !== this.#ticket) return undefined;
    this.#remember(question, answer);
    this.#show(answer);
    return this.#findNearest(ticket, question, answer);
  }

  #show(answer) {
    const mode = answer.source === "fallback" ? "fallback" : answer.degraded ? "degraded" : "online";
    this.store.set({ answer, mode, nearest: [], busy: false, active: -1 });
    this.report.results(answer, mode);
  }

  #remember(question, answer) {
    if (answer.degraded) return;
    this.#answers.set(questionKey(question), answer);
    if (this.#answers.size > 30) this.#answers.delete(this.#answers.keys().next().value);
  }

  /** Nothing matched: what comes closest without the filters, the quotes and the literal words. */
  async #findNearest(ticket, { query, filters }, answer) {
    if (answer.results.length) return;
    const words = query.replaceAll('"', " ");
    if (!words.trim()) return;
    const weaker = activeFilters(filters).length ? {} : { mode: "semantic" };
    const found = await this.client
      .search({ query: words, filters: {}, limit: 3, ...weaker }, { timeout: PATIENCE })
      .catch(() => null);
    if (ticket === this.#ticket && found) this.store.set({ nearest: found.results, active: -1 });
  }

  #lose(error) {
    this.report.error(error);
    this.#down = true;
    this.#retryLater();
    if (this.store.state.query.trim()) return this.#answerBy(this.#ticket, this.#question());
    this.store.set({ mode: this.fallback ? "fallback" : "offline", busy: false });
    return undefined;
  }

  async #answerBy(ticket, question) {
    try {
      if (!this.fallback) throw new Error("No fallback");
      const answer = await this.fallback.search(question);
      if (ticket === this.#ticket) this.#show(answer);
    } catch {
      if (ticket === this.#ticket) this.store.set({ mode: "offline", busy: false });
    }
  }

  #retryLater() {
    clearTimeout(this.#retryTimer);
    const wait = Math.min(1000 * 2 ** this.#attempts, 30000);
    this.#attempts += 1;
    this.#retryTimer = setTimeout(() => this.#retry(), wait);
  }

  async #retry() {
    clearTimeout(this.#retryTimer);
    const question = this.#question();
    const asked = questionKey(question);
    const empty = !question.query.trim();
    try {
      const found = empty
        ? await this.client.fields({ timeout: PATIENCE })
        : await this.client.search(question, { timeout: PATIENCE });
      if (!this.#down) return;
      this.#down = false;
      this.#attempts = 0;
      if (empty) this.store.set({ fields: found, mode: "online" });
      else this.#recover(asked, found);
    } catch {
      if (this.#down) this.#retryLater();
    }
  }

  /** The sidecar is back: its answer replaces the weaker one, unless the reader is already walking the list. */
  #recover(asked, answer) {
    if (asked !== questionKey(this.#question())) return void this.ask(0);
    if (this.store.state.active < 0) this.#show(answer);
    this.loadFields();
    return undefined;
  }
}

export { PAGE };
