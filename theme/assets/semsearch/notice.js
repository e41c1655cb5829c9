/*
 * Says which words were corrected and which phrases are missing, and offers to search for the words as typed. Loaded
 * when that first happens.
 */

import { button, h, replace } from "./ui.js";

const ENGLISH = {
  corrected: "Showing results for {query}",
  searched: "Searched for {query}",
  literal: "Search for {words} instead",
  missing: "{phrases} occurs nowhere here. These come closest.",
  quoted: "“{phrase}”",
};

export function fill(bar, { store, t, ask }) {
  t.add(ENGLISH);
  store.on(["answer"], ({ answer }) => {
    bar.hidden = !answer?.noted;
    if (bar.hidden) return;
    const { corrected, missing, query, total } = answer;
    const typed = Object.keys(corrected);
    const phrases = missing.map((phrase) => t("quoted", { phrase })).join(", ");
    replace(
      bar,
      typed.length > 0 && [
        h("p", {}, t(total > 0 ? "corrected" : "searched", { query: Object.values(corrected).join(", ") })),
        button("ss-button", {}, () => ask(query, { literal: true }), t("literal", { words: typed.join(", ") })),
      ],
      total > 0 && phrases && h("p", {}, t("missing", { phrases })),
    );
  });
}
