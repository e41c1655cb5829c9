/* More of an answer: further pages, further sections, and results that the filters hide. Loaded on first use. */

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

/** Shows all sections of one page of the answer: first those that match. */
export async function expand(search, path) {
  const { answer, filters } = search.store.state;
  const { engine } = answer;
  const place = { filters: { ...filters, "page.path": [path] }, sections_per_page: 10 };
  const [found, page] = engine.page
    ? await Promise.all([ask(search, place), engine.page(path).catch((error) => search.reportError(error))])
    : [];
  if (search.store.state.answer !== answer) return;
  const results = answer.results.map((result) => {
    if (result.page.path !== path) return result;
    const sections = found?.results[0]?.sections ?? result.sections;
    const known = new Set(sections.map((section) => section.chunk_index));
    const others = (page?.sections ?? []).filter((section) => !known.has(section.chunk_index));
    const plain = others.map((section) => ({ ...section, excerpt: section.content, highlights: [] }));
    return { ...result, sections: [...sections, ...plain], expanded: true };
  });
  search.store.set({ answer: { ...answer, results } });
}

/** Finds the results that the filters hide, if no result passes them. */
export async function findHidden(search, answer) {
  if (!answer.query.trim()) return;
  const found = await ask(search, { filters: {}, limit: 3 });
  if (found?.results.length) search.store.set({ nearest: found.results, active: 0 });
}
