/* The list: a group for each page, the less related ones folded below. */

import { akin, plain, wordsOf } from "./excerpt.js";
import { Rows } from "./rows.js";
import { listed } from "./state.js";
import { h, set } from "./ui.js";

export const optionsOf = (list) => [...list.querySelectorAll("[role=option]")];

export function createResults(parts) {
  const { store, t, root } = parts;
  const list = h("div.ss-list", {
    role: "listbox",
    id: `${parts.prefix}-list`,
    "data-semsearch": "list",
    "aria-label": t("results"),
  });
  parts.href = linkMaker(root);
  store.on(["answer", "nearest"], (state) => insert(list, groupsOf(parts, state)));
  store.on(["active", "answer", "nearest"], ({ active }) =>
    optionsOf(list).forEach((option, index) => set(option, "aria-selected", `${index === active}`)),
  );
  store.on(["busy"], ({ busy }) => set(list, "aria-busy", busy && "true"));
  return list;
}

function groupsOf(parts, state) {
  const { t, search } = parts;
  const { answer } = state;
  if (!answer) return [];
  const { query, weaker: count } = answer;
  const results = listed(state);
  // The engine decides which words count. A title may have them in another form than the texts.
  const marked = wordsOf(results.flatMap(({ sections }) => sections));
  const isForm = (word) => word.length > 3 && marked.some((other) => other.length < word.length + 3 && akin(other, word));
  const asked = [...new Set(plain(query).split(" "))].filter(isForm);
  const rows = new Rows(parts, [...marked, ...asked], query);
  const matches = results.filter(({ weak }) => !weak);
  const weaker = results.filter(({ weak }) => weak);
  // Other captions are only seen.
  const groups = matches.map((result) => rows.group(result, answer.results.length ? "" : t("nearest")));
  const folded = count - weaker.length;
  const caption = t("weaker", { count });
  if (weaker.length) groups.push(h("div.ss-caption.ss-weaker", { role: "presentation" }, caption));
  groups.push(...weaker.map((result) => rows.group(result, caption)));
  if (folded > 0 && answer.results.length >= answer.total)
    groups.push(
      rows.action("div.ss-option.ss-more.ss-unfold", t("weaker", { count: folded }), () => search.extend("addPages", true)),
    );
  return groups;
}

/** Inserts the list again, which is no layout shift: the browser treats its rows as new, not as moved. */
function insert(list, groups) {
  const { parentNode: scroller, nextSibling: next } = list;
  list.remove();
  list.replaceChildren(...groups);
  scroller?.insertBefore(list, next);
  list.hidden = !groups.length;
}

/** Links never lead to another site. `h` makes Material highlight words on the page. */
function linkMaker(root) {
  const settings = document.getElementById("__config")?.textContent ?? "";
  const isMarking = settings.includes('"search.highlight"');
  return ({ url, excerpt = "", highlights = [] }) => {
    const target = new URL(URL.canParse(url, root) ? url : "", root);
    const words = wordsOf([{ excerpt, highlights }]);
    const long = words.filter((word) => word.length > 2 || !words[1]);
    if (isMarking && long.length) target.searchParams.set("h", long.slice(0, 8).join(" "));
    return target.origin === root.origin ? target.href : root.href;
  };
}
