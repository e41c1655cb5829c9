/* Says above the results which words were corrected and which phrases are missing. Loaded when that first happens. */

import { button, h, replace, set } from "./ui.js";

const ENGLISH = {
  corrected: "Showing results for {query}",
  literal: "Search for {words} instead",
  missing: "{phrases} occurs nowhere here. These come closest.",
};

export function fill(bar, { store, t, ask }) {
  t.add(ENGLISH);
  store.on(["answer"], ({ answer }) => {
    set(bar, "hidden", !answer?.noted);
    if (!answer?.noted) return;
    const { corrected, missing, query } = answer;
    const typed = Object.keys(corrected);
    const phrases = missing.map((phrase) => `“${phrase.replace(/^"|"$/g, "")}”`).join(", ");
    replace(
      bar,
      typed.length > 0 && h("p", {}, t("corrected", { query: Object.values(corrected).join(", ") })),
      typed.length > 0 &&
        button("ss-button", {}, () => ask(query, { literal: true }), t("literal", { words: typed.join(", ") })),
      phrases && h("p", {}, t("missing", { phrases })),
    );
  });
}
