/* Sends queries to a search engine, and puts its answers into the state unless they are outdated. */

import { load } from "./load.js";
import { activeFilters, appendFilters, isQuestion } from "./state.js";
import { translatedFacets } from "./ui.js";

const DEBOUNCE = 180; // milliseconds without a key before a sidecar is asked
const QUICK = 150; // before an engine in the browser is asked, which costs no server anything
const LONGEST = 600; // milliseconds after which a reader who goes on typing sees first results
const BUSY = 150; // before a sign of waiting
const SLOW = 1500; // before another engine answers too
const TIMEOUT = 20000;
const AGAIN = 4000; // before the next attempt while not even the files of the site can be loaded

/*
 * An engine has `search(question, signal)`, which returns an answer as `toAnswer` does; its `facets` are null if the
 * engine has none. The `first` engine also has `facets()`, `page(path)` and `mode`.
 */

/** The HTTP API. Its answers can be cached. */
class Sidecar {
  mode = "online";
  remote = true;

  constructor({ config, root, names }, address = config.api_url ?? "/-/semsearch") {
    this.url = new URL(address, root).href.replace(/\/$/, "");
    this.names = names;
  }

  async search({ query, filters, ...options }, signal) {
    const given = { q: query.trim(), granularity: "page", ...options };
    if (this.names.length) given.facets = this.names;
    const body = await this.get(`search?${appendFilters(new URLSearchParams(given), filters)}`, signal);
    return toAnswer(this, { query, filters, ...options }, body);
  }

  facets() {
    return this.get("facets");
  }

  page(path) {
    return this.get(`pages/${path.split("/").map(encodeURIComponent).join("/")}`);
  }

  async get(path, signal) {
    const late = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(`${this.url}/api/v1/${path}`, { signal: AbortSignal.any([late, signal ?? late]) });
    const { status, statusText, ok, headers } = response;
    if (ok) return response.json();
    const { error } = await response.json().catch(() => ({}));
    throw Object.assign(new Error(error?.message ?? statusText), { status, code: error?.code, wait: headers.get("Retry-After") });
  }
}

/** Reads an answer of the API to a question. `noted`: it has corrected words or missing phrases. */
export function toAnswer(engine, { query, filters, correct }, body) {
  const results = body.results.map((result) => ({ ...result, sections: result.sections.map(withUnits) }));
  const { total_results: total, weaker_results: weaker = 0, facets = {} } = body;
  const { corrected = {}, missing_phrases: missing = [], insights, build_id: build } = body;
  const noted = missing.length > 0 || Object.keys(corrected).length > 0;
  const mode = body.degraded ? "degraded" : engine.mode;
  const asked = { query, filters, literal: correct === false };
  return { ...asked, results, total, weaker, facets, corrected, missing, noted, mode, engine, insights, build };
}

/** Converts code points to UTF-16 units. */
function withUnits(section) {
  const points = [...section.excerpt];
  const unit = (point) => points.slice(0, point).join("").length;
  return { ...section, highlights: section.highlights.map((range) => range.map(unit)) };
}

export class Search {
  #pending = 0; // a question
  #since = 0; // when it was typed first
  #timer = 0;
  #slow = 0;
  #again = 0;
  shown = 0; // how many answers have been shown; one that is extended counts once
  #request = new AbortController();
  down = false;

  /** `engine` is a promise of what `choose` in static/engine.js returns, or of nothing if the site has no such engine. */
  constructor({ engine, ...parts }) {
    Object.assign(this, parts);
    this.ready = engine.then((module) => {
      this.first = module?.openIndex?.(this) ?? new Sidecar(this, module?.address);
      this.store.set({ mode: this.first.mode });
      return this.first;
    });
  }

  ask(delay = this.first?.remote ? DEBOUNCE : QUICK) {
    if (isQuestion(this.store.state)) {
      clearTimeout(this.#pending);
      const now = performance.now();
      this.#since ||= now;
      this.#pending = setTimeout(() => this.#run(), Math.min(delay, this.#since + LONGEST - now));
    } else {
      const { mode } = (this.down ? this.failover : this.first) ?? this.store.state;
      // No better answer will follow.
      this.#stop({ answer: null, nearest: [], better: null, ...(this.store.state.answer && { mode }) });
    }
  }

  /** Loads the facets' values. */
  async loadFields() {
    const { fields } = this.store.state;
    if (!fields.length || fields.some(({ values }) => values)) return;
    try {
      const { facets = fields } = await (await this.ready).facets();
      this.store.set({ fields: translatedFacets(this.t, facets) });
      if (this.store.state.mode === "offline") this.store.set({ mode: this.first.mode });
    } catch (error) {
      if (this.down || !this.store.state.open) return;
      await this.#lose(error);
      if (!this.store.state.answer) this.store.set({ mode: this.failover?.mode ?? "offline" });
    }
  }

  async extend(name, ...given) {
    const module = await load(import.meta.resolve("./more.js")).catch((error) => this.reportError(error));
    await module?.[name](this, ...given);
  }

  /** Stops when the dialog has closed. */
  rest() {
    this.#stop();
    clearTimeout(this.#again);
    this.failover?.rest();
    this.down = false;
  }

  #stop(patch) {
    clearTimeout(this.#pending);
    this.#since = 0;
    this.#supersede();
    this.#settle(patch);
  }

  #settle(patch) {
    clearTimeout(this.#timer);
    this.store.set({ ...patch, busy: false });
  }

  /** Stops waiting for the last question; returns a signal that is aborted once there is a newer one, or the answer. */
  #supersede() {
    clearTimeout(this.#slow);
    this.#request.abort();
    this.#request = new AbortController();
    return this.#request.signal;
  }

  reportError({ message, status = 0 }) {
    this.report("error", { message, status });
  }

  async #run() {
    this.#since = 0;
    const signal = this.#supersede();
    const question = pick(this.store.state);
    let substitute = null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.store.set({ busy: true }), BUSY);
    await this.ready;
    if (signal.aborted) return;
    if (!this.down)
      try {
        // The request of a slow sidecar stays open while another engine answers.
        if (this.first.remote)
          this.#slow = setTimeout(async () => {
            const found = await this.#substitute(question, signal);
            if (found && !signal.aborted && !this.down) this.show((substitute = { ...found, mode: "slow" }));
          }, SLOW);
        const answer = await this.askFirst(question, signal);
        if (signal.aborted) return;
        this.#supersede();
        if (substitute) this.improve(answer);
        else this.show(answer);
        if (!answer.total && activeFilters(question.filters).length) this.extend("findHidden", answer);
        return;
      } catch (error) {
        if (signal.aborted) return;
        clearTimeout(this.#slow);
        await this.#lose(error);
      }
    const answer = substitute ?? (await this.#substitute(question, signal));
    if (signal.aborted) return;
    const mode = this.failover?.mode ?? "offline";
    if (answer && answer !== substitute) this.show(answer);
    else this.#settle({ mode: answer || mode === "building" ? mode : "offline" });
  }

  /** Asks the first engine. A refused filter, as from an old link, gives no results; the reader can remove it. */
  async askFirst(question, signal) {
    try {
      return await this.first.search(question, signal, this.store);
    } catch (error) {
      if (error.status !== 422 || !activeFilters(question.filters).length) throw error;
      this.reportError(error);
      return toAnswer(this.first, question, { results: [], total_results: 0 });
    }
  }

  show(answer) {
    const { mode } = answer;
    clearTimeout(this.#again);
    this.shown += 1;
    this.#settle({ answer, mode, nearest: [], better: null, active: 0, walked: false });
    this.report("results", { query: answer.query, total: answer.total, mode });
  }

  /** Replaces an answer. A reader who has moved in the list is only told. */
  improve(answer) {
    if (this.store.state.walked) this.store.set({ better: answer, mode: "better", busy: false });
    else this.show({ ...answer, improved: true });
  }

  async #lose(error) {
    this.reportError(error);
    if (error.status === 422) return; // refuses this question only
    const failover = await this.#loadFailover();
    if (failover) failover.retryLater(error);
    else this.#tryAgain();
  }

  /** Tries again without the failover, whose file could not be loaded: the connection or the site is down. */
  #tryAgain() {
    clearTimeout(this.#again);
    if (!this.store.state.open) return;
    this.#again = setTimeout(() => {
      this.loadFields();
      if (isQuestion(this.store.state)) this.#run();
    }, AGAIN);
  }

  async #substitute(question, signal) {
    const failover = await this.#loadFailover();
    return (await failover?.answer(question, signal)) ?? null;
  }

  /** Null if the site cannot be reached either. */
  async #loadFailover() {
    const { Failover } = await load(import.meta.resolve("./failover.js")).catch(() => ({}));
    return (this.failover ??= Failover ? new Failover(this) : null);
  }
}

export const pick = ({ query, filters, literal, reader }) => ({ query, filters, ...reader, ...(literal && { correct: false }) });
