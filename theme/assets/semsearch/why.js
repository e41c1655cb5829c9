/* Says beside a result why it is in the list if its text does not show this. Loaded with the first results. */

import { akin, fold, occurrences } from "./excerpt.js";
import { listed } from "./state.js";
import { h } from "./ui.js";

const ENGLISH = {
  by_meaning: "by meaning",
  without: "without: {words}",
};
const WORDS = /[\p{L}\p{N}_]{3,}/gu;
const IN_PARTS = /[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+)+/gu;
const MOST = 2; // words named
const LONG = 8; // words of a question of which many miss some, such as a pasted error message

const joined = (word) => word.replace(/[-_]/g, "");

/** Returns the words of a text without dashes and underscores; `no-input` is also there as a whole, *noinput*. */
const wordsIn = (text) => {
  const folded = fold(text);
  return [WORDS, IN_PARTS].flatMap((pattern) => folded.match(pattern) ?? []).map(joined);
};
const isIn = (words, word) => words.some((other) => akin(joined(word), other));

export function fill(list, { store, t }) {
  t.add(ENGLISH);
  store.on(["answer", "nearest"], (state) => {
    const { answer } = state;
    if (!answer?.query.trim()) return;
    const results = listed(state);
    const read = Object.entries(answer.corrected ?? {}).reduce((text, typo) => text.replace(...typo), answer.query);
    const asked = new Map((read.normalize("NFC").match(WORDS) ?? []).map((word) => [fold(word), word.toLowerCase()]));
    const inAny = (texts) => [...asked.keys()].filter((word) => texts.some((words) => isIn(words, word)));
    // Only words that another result has are listed: nobody misses "how" and "the".
    const marked = inAny(results.map(markedIn));
    const telling = marked.length ? marked : inAny(results.map((result) => wordsIn(namesOf(result).join(" "))));
    for (const option of list.querySelectorAll(".ss-main-option")) {
      const reason = reasonOf(option.hit.result, telling, asked);
      const place = option.querySelector(".ss-crumbs") ?? option.querySelector(".ss-title");
      if (reason) place.append(" ", h("span.ss-why", {}, reason));
    }
  });

  function reasonOf(result, telling, asked) {
    const { page, sections, more_sections: others } = result;
    const texts = sections.map(({ content }) => content);
    const text = [...namesOf(result), ...(page.breadcrumbs ?? []), ...texts].join(" ");
    const [own, folded] = [wordsIn(text), fold(text)];
    const has = (word) => isIn(own, word) || occurrences(folded, word).length; // no spaces around it in Japanese
    const missing = telling.filter((word) => !has(word));
    const plain = sections.every(({ highlights }) => !highlights.length);
    const byWords = result.scores?.lexical > 0; // even if none is visible: by a keyword, a synonym or a pin
    if (plain && missing.length === telling.length) return byWords ? "" : t("by_meaning");
    const words = missing.slice(0, MOST).map((word) => asked.get(word));
    const isSure = !others && telling.length <= LONG; // other sections of the page may have them
    return missing.length && isSure ? t("without", { words: words.join(", ") }) : "";
  }
}

const namesOf = ({ page, sections }) => [page.title, ...sections.flatMap(({ heading_hierarchy: names }) => names)];

/** Returns the words that are marked in a result. */
const markedIn = ({ sections }) =>
  sections.flatMap(({ excerpt, highlights }) => highlights.flatMap(([from, to]) => wordsIn(excerpt.slice(from, to))));
