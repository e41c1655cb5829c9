/* Says beside a result why it is in the list if its text does not show this. Loaded with the first results. */

import { fold } from "./excerpt.js";
import { h } from "./ui.js";

const ENGLISH = {
  by_meaning: "by meaning",
  without: "without: {words}",
};
const WORDS = /[\p{L}\p{N}_]{3,}/gu;
const MOST = 2; // words named

/** Returns whether two words seem to share a stem: whether they begin with the same letters. */
const akin = (one, other) => {
  const length = Math.max(3, Math.min(one.length, other.length) - 2);
  return one.slice(0, length) === other.slice(0, length);
};
const wordsIn = (text) => fold(text).match(WORDS) ?? [];

export function fill(list, { store, t }) {
  t.add(ENGLISH);
  store.on(["answer", "nearest"], ({ answer, nearest }) => {
    if (!answer?.query.trim()) return;
    const results = answer.results.length ? answer.results : nearest;
    const marked = new Map(results.map((result) => [result, markedIn(result)]));
    // Only words that another result has are listed: nobody misses "how" and "the".
    const telling = [...new Set(wordsIn(answer.query))].filter((word) =>
      [...marked.values()].some((words) => words.some((other) => akin(word, other))),
    );
    for (const option of list.querySelectorAll(".ss-main-option")) {
      const reason = reasonOf(option.hit.result, marked.get(option.hit.result) ?? [], telling);
      const place = option.querySelector(".ss-crumbs") ?? option.querySelector(".ss-title");
      if (reason) place.append(" ", h("span.ss-why", {}, reason));
    }
  });

  function reasonOf({ page, sections }, marks, telling) {
    const texts = sections.flatMap(({ heading_hierarchy: headings, content }) => [...headings, content]);
    const own = wordsIn([page.title, ...texts].join(" "));
    const missing = telling.filter((word) => !own.some((other) => akin(word, other)));
    if (!marks.length && missing.length === telling.length) return t("by_meaning");
    return missing.length ? t("without", { words: missing.slice(0, MOST).join(", ") }) : "";
  }
}

/** Returns the words that are marked in a result. */
const markedIn = ({ sections }) =>
  sections.flatMap(({ excerpt, highlights }) => highlights.flatMap(([from, to]) => wordsIn(excerpt.slice(from, to))));
