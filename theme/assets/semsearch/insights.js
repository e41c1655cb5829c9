/*
 * Sends a record of how each search ended. Loaded with the first answer, if the server records searches. Nothing is
 * stored in the browser, and nothing that is sent connects two searches.
 */

import { activeFilters, attempt, listed } from "./state.js";
import { h } from "./ui.js";

const ENGLISH = {
  insights: "Searches are recorded here without names, to improve these pages.",
};
const READ = 1000; // milliseconds after which an answer counts as read, not as an intermediate one while typing

/** Returns what a search asked, and how well its best result fits. */
function recordOf({ answer, filters }) {
  const { query, mode, total: matches, corrected, results } = answer;
  const { score, scores } = results[0] ?? {};
  const chosen = activeFilters(filters).map(([field, one]) => [
    field,
    one.length ? one : [`${one.min ?? ""}..${one.max ?? ""}`],
  ]);
  return {
    query: query.trim(),
    mode,
    filters: Object.fromEntries(chosen),
    matches,
    score,
    similarity: scores?.semantic,
    corrected,
  };
}

export function fill(foot, { store, search, t, config, main }) {
  if (navigator.globalPrivacyControl || navigator.doNotTrack === "1") return;
  t.add(ENGLISH);
  foot.before(h("p.ss-note.ss-insights", { "data-semsearch": "insights" }, t("insights")));
  let pending = null; // the answer on screen: {answer, filters, since}
  let earlier = null; // an answer that was read before its question was shortened or cleared

  function send(ending, ended = pending) {
    if (!ended) return;
    const body = { ...recordOf(ended), language: t.language, ...ending };
    pending = earlier = null;
    const url = config.insights_url ?? `${search.first.url}/api/v1/insights`;
    attempt(() => navigator.sendBeacon(url, JSON.stringify(body))); // a reader may have switched this off
  }

  const isRead = () => pending && Date.now() - pending.since > READ;
  const sameFilters = (filters) => JSON.stringify(filters) === JSON.stringify(pending.filters);
  const queryOf = ({ answer }) => answer.query.trim();

  /**
   * An answer to a query that continues the last one, or repeats it, belongs to the same search. Readers who ask
   * something else may clear the field first, so a query that was read is kept until it is clear what comes next.
   */
  function follow({ answer, filters }) {
    const recorded = answer && (answer.insights || config.insights_url);
    const now = answer ? answer.query.trim() : "";
    if (pending && answer && queryOf(pending) === now && sameFilters(filters)) return;
    if (earlier && isRead() && queryOf(pending).startsWith(queryOf(earlier))) earlier = null;
    if (isRead() && now.length < queryOf(pending).length && queryOf(pending).startsWith(now)) earlier = pending;
    const last = earlier ?? (isRead() ? pending : null);
    const before = last ? queryOf(last) : "";
    if (!now.startsWith(before) && !before.startsWith(now)) send({ rephrased: true }, last);
    pending = recorded ? { answer, filters, since: Date.now() } : null;
  }

  function opened(hit) {
    const rank = listed(store.state).findIndex(({ page }) => page.path === hit?.page.path) + 1;
    if (rank) send({ opened: hit.page.path, rank });
  }

  function leave() {
    send({}, isRead() ? pending : earlier);
    pending = earlier = null;
  }

  store.on(["answer"], follow);
  store.on(["opened"], ({ opened: hit }) => opened(hit));
  store.on(["open"], ({ open }) => open || leave());
  // The middle button.
  main.addEventListener("auxclick", ({ target, button }) => button === 1 && opened(target.closest("a[href]")?.hit));
  addEventListener("pagehide", leave);
}
