/*
 * Says above the results which words were corrected and which phrases are missing; without results, only offers to
 * search for the words as typed. Loaded when that first happens.
 */

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
    const { corrected, missing, query, total } = answer;
    const typed = Object.keys(corrected);
    const phrases = missing.map((phrase) => `“${phrase.replace(/^"|"$/g, "")}”`).join(", ");
    replace(
      bar,
      total > 0 && typed.length > 0 && h("p", {}, t("corrected", { query: Object.values(corrected).join(", ") })),
      typed.length > 0 &&
        button("ss-button", {}, () => ask(query, { literal: true }), t("literal", { words: typed.join(", ") })),
      total > 0 && phrases && h("p", {}, t("missing", { phrases })),
    );
  });
}
