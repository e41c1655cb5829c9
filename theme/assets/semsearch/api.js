/* The sidecar's HTTP API. GET, so that answers can be cached on the way. */

import { appendFilters } from "./state.js";

/** The sidecar answered with an error, or did not answer in time. */
export class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }

  /** The request itself was wrong: asking again will not help. */
  get permanent() {
    return this.status >= 400 && this.status < 500 && this.status !== 429 && this.status !== 404;
  }
}

/** Asks the sidecar at `url`; every method takes `{signal, timeout}` and rejects with `ApiError` or `AbortError`. */
export class Client {
  constructor(url, facets) {
    this.url = url.href.replace(/\/$/, "");
    this.facets = facets;
  }

  /** Pages with their best sections. Four are asked for, three are shown: the fourth says that there is more. */
  async search({ query, filters, offset = 0, limit = 10, mode = null, sections = 4 }, options) {
    const params = new URLSearchParams({ q: query.trim(), limit, granularity: "page", sections_per_page: sections });
    if (offset) params.set("offset", offset);
    if (mode) params.set("mode", mode);
    if (this.facets.length) params.set("facets", this.facets.join(","));
    const body = await this.#get(`search?${appendFilters(params, filters)}`, options);
    return readAnswer(body, query);
  }

  async fields(options) {
    const { facets = [] } = await this.#get("facets", options);
    return facets;
  }

  async #get(path, { signal, timeout }) {
    const late = AbortSignal.timeout(timeout);
    try {
      const response = await fetch(`${this.url}/api/v1/${path}`, { signal: signal ? AbortSignal.any([signal, late]) : late });
      const body = await response.json().catch(() => null);
      if (!response.ok) throw new ApiError(body?.error?.message ?? response.statusText, response.status);
      if (!body) throw new ApiError("The answer is not JSON", response.status);
      return body;
    } catch (error) {
      if (error instanceof ApiError || signal?.aborted) throw error;
      throw new ApiError(late.aborted ? "The search service is slow" : "The search service does not answer");
    }
  }
}

/** The part of the answer the widget shows, with highlight offsets in UTF-16 units, as JavaScript counts. */
function readAnswer(body, query) {
  const results = (body.results ?? []).map(({ page, section, sections, score }) => ({
    score,
    page,
    sections: (sections ?? (section ? [section] : [])).map((item) => ({
      ...item,
      excerpt: item.excerpt ?? "",
      highlights: toUtf16(item.excerpt ?? "", item.highlights ?? []),
    })),
  }));
  return {
    query,
    results: results.filter(({ page, sections }) => page && sections.length),
    total: body.total_results ?? results.length,
    facets: body.facets ?? {},
    degraded: body.degraded === true,
    source: "sidecar",
  };
}

function toUtf16(text, ranges) {
  if (!ranges.length) return [];
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  const at = (point) => starts[point] ?? unit;
  return ranges.map(([start, end]) => [at(start), at(end)]);
}
