/* Says that there are no results and offers filters and words to remove. Loaded when that first happens. */

import { chipsOf } from "./chips.js";
import { button, h, replace } from "./ui.js";

const ENGLISH = {
  none_hint: "Try other words, or fewer of them.",
  drop_filter: "Search without {filter}",
  drop_filters: "Search without filters",
  drop_quotes: "Search without quotation marks",
};

export function fill(view, { store, t, ask, setFilters }) {
  t.add(ENGLISH);
  store.on(["answer", "nearest"], (state) => {
    const { answer, nearest } = state;
    if (!answer || answer.total) return;
    const asked = answer.query.trim();
    const words = asked.replaceAll('"', "").trim();
    const chips = answer.facets ? chipsOf(t, state) : [];
    const offer = (text, act) => button("ss-button", {}, act, text);
    const offers =
      chips.length > 1
        ? chips.map(({ text, without }) => offer(t("drop_filter", { filter: text }), () => setFilters(without)))
        : [];
    if (chips.length) offers.push(offer(t("drop_filters"), () => setFilters({})));
    if (words && words !== asked) offers.push(offer(t("drop_quotes"), () => ask(words)));
    replace(
      view,
      h("p.ss-title", { dir: "auto" }, asked ? t("none", { query: words || asked }) : t("none_browse")),
      words ? h("p.ss-note", {}, t("none_hint")) : "",
      h("div.ss-offers", {}, offers),
      nearest.length && !answer.results.length ? h("div.ss-caption", {}, t("nearest")) : "",
    );
  });
}
