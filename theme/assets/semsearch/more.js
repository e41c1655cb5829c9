/* More of an answer: further pages, further sections, and what the filters hide. Loaded when first asked for. */

import { pick } from "./search.js";

async function ask(search, question) {
  const { answer } = search.store.state;
  const given = { ...pick(search.store.state), query: answer.query, ...question };
  const next = await answer.engine.search(given).catch((error) => search.reportError(error));
  return search.store.state.answer === answer ? next : null;
}

/** Adds the next ten pages to the answer: matches, or `weak` results behind them. */
export async function addPages(search, weak) {
  const { answer } = search.store.state;
  const next = await ask(search, { offset: answer.results.length, ...(weak && { include_weak: true }) });
  if (next) search.store.set({ answer: { ...answer, results: [...answer.results, ...next.results] } });
}

/** Shows all sections of one page of the answer. */
export async function expand(search, path) {
  const { answer, filters } = search.store.state;
  const place = { filters: { ...filters, "page.path": [path] }, sections_per_page: 10, include_weak: true };
  const found = answer.engine.page ? await ask(search, place) : null;
  if (search.store.state.answer !== answer) return;
  const results = answer.results.map((result) =>
    result.page.path === path
      ? { ...result, sections: found?.results[0]?.sections ?? result.sections, expanded: true }
      : result,
  );
  search.store.set({ answer: { ...answer, results } });
}

/** Finds what the filters hide, where they leave nothing. */
export async function findHidden(search, answer) {
  if (!answer.query.trim()) return;
  const found = await ask(search, { filters: {}, limit: 3 });
  if (found?.results.length) search.store.set({ nearest: found.results, active: 0 });
}
