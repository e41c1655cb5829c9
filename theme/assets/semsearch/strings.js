/* What the widget says. English is here; other languages are JSON files beside it, loaded only when asked for. */

export const ENGLISH = {
  search: "Search",
  placeholder: "Search the documentation",
  close: "Close search",
  clear: "Clear the search field",
  results: "Search results",
  filters: "Filters",
  clear_filters: "Clear all",
  remove_filter: "Remove filter {filter}",
  count_one: "{count} result",
  count_other: "{count} results",
  none: "Nothing found for “{query}”",
  none_hint: "Try other words, or fewer of them.",
  drop_filter: "Search without {filter}",
  drop_filters: "Search without filters",
  drop_quotes: "Search without quotation marks",
  nearest: "Closest matches",
  more_sections: "More on this page",
  more_results: "Show more results",
  recent: "Recent searches",
  remove_recent: "Remove “{query}” from the recent searches",
  clear_recent: "Clear",
  stop_recent: "Don’t keep",
  keep_recent: "Keep recent searches",
  narrow: "Narrow down",
  start: "Ask a question or type a word.",
  find_in: "Find in {field}",
  from: "From",
  to: "To",
  yes: "Yes",
  no: "No",
  mode_fallback: "Basic search: the search service is not answering. Trying again…",
  mode_degraded: "Matching words only: search by meaning is unavailable right now.",
  mode_offline: "Search is unavailable right now. Trying again…",
  recovered: "Full search is back.",
  hint_move: "move",
  hint_open: "open",
  hint_close: "close",
};

const RTL = /^(ar|dv|fa|he|ku|ps|sd|ug|ur|yi)\b/;

/** Loads the strings of a language; unknown languages and keys are English. `overrides` win. */
export async function loadStrings(base, language = "en", overrides = {}) {
  const primary = String(language).toLowerCase().split(/[-_]/)[0];
  let found = null;
  if (/^[a-z]{2,3}$/.test(primary) && primary !== "en") {
    found = await fetch(new URL(`strings/${primary}.json`, base))
      .then((response) => (response.ok ? response.json() : null))
      .catch(() => null);
  }
  return translator({ ...ENGLISH, ...found, ...overrides }, found ? primary : "en");
}

/** Returns `t(key, values)`; a `count` picks the plural form. */
function translator(strings, language) {
  const plurals = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  const t = (key, values = {}) => {
    const plural = values.count === undefined ? "" : `_${plurals.select(values.count)}`;
    const text = strings[key + plural] ?? strings[`${key}_other`] ?? strings[key] ?? key;
    return text.replace(/\{(\w+)\}/g, (_, name) =>
      typeof values[name] === "number" ? numbers.format(values[name]) : (values[name] ?? ""),
    );
  };
  return Object.assign(t, { language, rtl: RTL.test(language), number: (value) => numbers.format(value) });
}
