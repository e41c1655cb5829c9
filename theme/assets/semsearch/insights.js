/*
 * Sends a record of how each search ended. Loaded with the first answer, if the server records searches. Nothing is
 * stored in the browser, and nothing that is sent connects two searches.
 */

import { activeFilters, listed } from "./state.js";
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

  function send(ending) {
    if (!pending) return;
    const body = { ...recordOf(pending), language: t.language, ...ending };
    pending = null;
    navigator.sendBeacon(config.insights_url ?? `${search.first.url}/api/v1/insights`, JSON.stringify(body));
  }

  const isRead = () => pending && Date.now() - pending.since > READ;
  const sameFilters = (filters) => JSON.stringify(filters) === JSON.stringify(pending.filters);

  /** An answer to a query that continues the last one, or repeats it, belongs to the same search. */
  function follow({ answer, filters }) {
    const recorded = answer && (answer.insights || config.insights_url);
    if (pending && answer) {
      const [before, now] = [pending.answer.query.trim(), answer.query.trim()];
      if (before === now && sameFilters(filters)) return;
      if (!now.startsWith(before) && !before.startsWith(now) && isRead()) send({ rephrased: true });
    }
    pending = recorded ? { answer, filters, since: Date.now() } : null;
  }

  function opened(hit) {
    const rank = listed(store.state).findIndex(({ page }) => page.path === hit?.page.path) + 1;
    if (rank) send({ opened: hit.page.path, rank });
  }

  store.on(["answer"], follow);
  store.on(["opened"], ({ opened: hit }) => opened(hit));
  store.on(["open"], ({ open }) => {
    if (open) return;
    if (isRead()) send();
    pending = null;
  });
  // The middle button.
  main.addEventListener("auxclick", ({ target, button }) => button === 1 && opened(target.closest("a[href]")?.hit));
  addEventListener("pagehide", () => isRead() && send());
}
