/* More of an answer: further pages, further sections, and results that the filters hide. Loaded on first use. */

import { optionsOf } from "./results.js";
import { pick } from "./search.js";

const MOST = 10; // sections of a page in one answer of the API

/** Asks for more of the answer. Null if there is none, or if another answer is shown by now. */
async function ask(search, question, onError) {
  const { answer } = search.store.state;
  const { shown } = search;
  const given = { ...pick({ ...search.store.state, ...answer }), ...question };
  const isShown = () => search.store.state.answer && search.shown === shown;
  const next = await answer.engine.search(given).catch((error) => {
    search.reportError(error);
    if (isShown()) onError?.(error);
  });
  return (isShown() && next) || null;
}

/**
 * Asks for what a reader wants to see. If that fails, the question is asked again: another engine may answer it. It is
 * also asked again if the index has been replaced, because other pages may then follow those in the list.
 */
async function askOrRestart(search, question) {
  const restart = () => search.store.state.open && search.ask(0);
  const next = await ask(search, question, ({ status }) => status !== 422 && restart());
  if (!next || next.build === search.store.state.answer.build) return next;
  restart();
  return null;
}

/**
 * Adds the next ten pages to the answer: matches, or `weak` results behind them. With a `list`, its first new row
 * becomes the active row, from which the arrow keys go on.
 */
export async function addPages(search, weak, list) {
  const offset = search.store.state.answer.results.length;
  const next = await askOrRestart(search, { offset, ...(weak && { include_weak: true }) });
  const { answer } = search.store.state; // a page may have been expanded meanwhile
  if (!next || answer.results.length !== offset) return;
  const place = list && next.results.length && { active: optionsOf(list).length, walked: true };
  search.store.set({ answer: { ...answer, results: [...answer.results, ...next.results] }, ...place });
}

/** Shows more of the sections of a page that match: asks the same question for this page alone. */
export async function expand(search, path) {
  const { answer, nearest } = search.store.state;
  const hidden = !answer.results.length; // the filters hide all results
  const results = hidden ? nearest : answer.results;
  const offset = results.findIndex(({ page }) => page.path === path);
  let found = results[offset]; // the theme's own index has given all sections
  if (answer.engine.page) {
    const weak = found.weak && { include_weak: true };
    const place = { offset, limit: 1, sections_per_page: MOST, ...weak, ...(hidden && { filters: {} }) };
    [found] = (await askOrRestart(search, place))?.results ?? [];
  }
  if (found?.page.path !== path) return;
  const now = search.store.state; // pages may have been added meanwhile
  const changed = (hidden ? now.nearest : now.answer.results).with(offset, { ...found, expanded: true });
  search.store.set(hidden ? { nearest: changed } : { answer: { ...now.answer, results: changed } });
}

/** Finds the results that the filters hide, if no result passes them. */
export async function findHidden(search, answer) {
  if (!answer.query.trim()) return;
  const found = await ask(search, { filters: {}, limit: 3 });
  if (found?.results.length) search.store.set({ nearest: found.results, active: 0 });
}
