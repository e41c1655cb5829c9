/* Nothing found: what to drop; the closest hits follow in the list. Loaded when it first happens. */

import { chipsOf } from "./chips.js";
import { button, h } from "./ui.js";

const ENGLISH = {
  none_hint: "Try other words, or fewer of them.",
  drop_filter: "Search without {filter}",
  drop_filters: "Search without filters",
  drop_quotes: "Search without quotation marks",
  nearest: "Closest matches",
};

export function fill(view, { store, t, ask, setFilters }) {
  t.add(ENGLISH);
  store.on(["answer", "nearest"], (state) => {
    const { answer, nearest } = state;
    if (!answer || answer.results.length) return;
    const words = answer.query.replaceAll('"', "");
    const chips = answer.facets ? chipsOf(t, state) : [];
    const offer = (text, act) => button("ss-button", {}, act, text);
    const offers =
      chips.length > 1
        ? chips.map(({ text, without }) => offer(t("drop_filter", { filter: text }), () => setFilters(without)))
        : [];
    if (chips.length) offers.push(offer(t("drop_filters"), () => setFilters({})));
    if (words !== answer.query) offers.push(offer(t("drop_quotes"), () => ask(words)));
    view.replaceChildren(
      h("p.ss-title", { dir: "auto" }, t("none", { query: words.trim() })),
      h("p.ss-note", {}, t("none_hint")),
      h("div.ss-offers", {}, offers),
      nearest.length ? h("div.ss-caption", {}, t("nearest")) : "",
    );
  });
}
