/* The list of results: a group a page, words marked, excerpts as light Markdown. */

import { h, icon, set } from "./ui.js";

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const FENCE = /^\s*(?:```|~~~)\s*([\w+#.-]*)/;
const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+/;
const RULE = /^[\s|:-]*$/;
const SECTIONS = 3;

/** Lower case without accents; offsets stay valid. */
export function fold(text) {
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return text;
  return lower.replace(/[^\x00-\x7f]/gu, (letter) => {
    const plain = letter.normalize("NFD").replace(/\p{M}/gu, "");
    return plain.length === letter.length ? plain : letter;
  });
}

export function wordsOf(sections) {
  const marked = ({ excerpt, highlights }) => highlights.map(([from, to]) => excerpt.slice(from, to).toLowerCase());
  return [...new Set(sections.flatMap(marked))];
}

export const isWord = (letter) => /[\p{L}\p{N}_]/u.test(letter ?? "");

/** Where `term` starts a word. */
export function occurrences(folded, term) {
  const found = [];
  for (let at = folded.indexOf(term); at >= 0 && found.length < 8; at = folded.indexOf(term, at + term.length))
    if (UNSPACED.test(term) || !isWord(folded[at - 1])) found.push(at);
  return found;
}

/** Sorted, disjoint `[start, end)` of the terms; short ones as whole words only. */
export function marksIn(text, terms) {
  const folded = fold(text);
  return terms
    .flatMap((term) => occurrences(folded, fold(term)).map((at) => [at, at + term.length]))
    .filter(([start, end]) => end - start > 3 || UNSPACED.test(folded[start]) || !isWord(folded[end]))
    .sort((a, b) => a[0] - b[0] || b[1] - a[1])
    .filter(([start], index, all) => !index || start >= all[index - 1][1]);
}

/** Writes text[start, end), highlights in <mark>. */
function write(parent, text, highlights, start = 0, end = text.length) {
  for (const [from, to] of highlights) {
    const [left, right] = [Math.max(from, start), Math.min(to, end)];
    if (left >= right) continue;
    parent.append(text.slice(start, left), h("mark", {}, text.slice(left, right)));
    start = right;
  }
  parent.append(text.slice(start, Math.max(start, end)));
}

/** The same, with `code spans`. */
function writeInline(parent, text, highlights, start, end) {
  let at = start;
  for (const { index, 0: span, 1: ticks } of text.slice(start, end).matchAll(/(`+)[^`]+\1/g)) {
    const code = h("code");
    const from = start + index;
    write(parent, text, highlights, at, from);
    at = from + span.length;
    write(code, text, highlights, from + ticks.length, at - ticks.length);
    parent.append(code);
  }
  write(parent, text, highlights, at, end);
  return parent;
}

/** Light Markdown, as much as fits into `space` lines. */
export function renderExcerpt({ excerpt: text, highlights, kind }, space) {
  const root = h("div.ss-excerpt", { dir: "auto" });
  for (const { type, lines } of blocksOf(linesOf(text, highlights, kind), space)) {
    const [start, end] = [lines[0][0], lines.at(-1)[1]];
    if (type === "code") {
      const code = h("code");
      write(code, text, highlights, start, end);
      root.append(h("pre", { dir: "ltr" }, code));
    } else if (type === "ol" || type === "ul") {
      const items = lines.map(([from, to]) => {
        const [sign, value] = ITEM.exec(text.slice(from, to));
        return writeInline(h("li", { value }), text, highlights, from + sign.length, to);
      });
      root.append(h(type, {}, items));
    } else if (type === "table") {
      const rows = lines.map((line) => h("tr", {}, cellsOf(text, highlights, line)));
      root.append(h("table", {}, h("tbody", {}, rows)));
    } else root.append(writeInline(h("p"), text, highlights, start, end));
  }
  return root;
}

/** Lines as {type, range, room: lines on screen, weight: highlighted letters}. */
function linesOf(text, highlights, kind) {
  const fences = text.match(new RegExp(FENCE, "gm")) ?? [];
  // Cut out of a fence: no fence at all, or one that only closes.
  let fenced = fences.length
    ? fences.length % 2 && !FENCE.exec(fences[0])[1] && !FENCE.test(text.split("\n")[0])
    : kind === "code";
  let start = 0;
  return text.split("\n").map((line) => {
    const range = [start, start + line.length];
    const fence = FENCE.test(line);
    const type = fence ? "" : fenced ? "code" : typeOf(line);
    const weight = highlights.reduce((sum, [from, to]) => sum + (from >= start && to <= range[1] && to - from), 0);
    if (fence) fenced = !fenced;
    start = range[1] + 1;
    return { type, range, weight, room: type && Math.ceil(line.length / 90) };
  });
}

/** What there is room for, around the line with the most highlights. */
function blocksOf(lines, space) {
  const best = lines.reduce((found, { weight }, index) => (weight > lines[found].weight ? index : found), 0);
  const roomOf = (some) => some.reduce((sum, { room }) => sum + +room, 0);
  let first = 0;
  while (first < best && roomOf(lines.slice(first, best + 1)) > space) first += 1;
  const blocks = [];
  lines.slice(first).forEach(({ type, range }, index, rest) => {
    if (roomOf(rest.slice(0, index)) >= space) return;
    if (blocks.at(-1)?.type === type) blocks.at(-1).lines.push(range);
    else blocks.push({ type, lines: [range] });
  });
  return blocks.filter(({ type }) => type);
}

function typeOf(line) {
  if (RULE.test(line)) return "";
  if (/^\s*(?:…\s*)?\|.*\|/.test(line)) return "table";
  const item = ITEM.exec(line);
  return item ? (item[1] ? "ol" : "ul") : "text";
}

function cellsOf(text, highlights, [start, end]) {
  const cells = [...text.slice(start, end).matchAll(/\|\s*((?:\\\||[^|])*?)\s*(?=\||$)/g)];
  return cells
    .map((match) => [start + match.index + match[0].indexOf(match[1], 1), match[1].length])
    .filter(([from, length], index) => length || index < cells.length - 1)
    .map(([from, length]) => writeInline(h("td"), text, highlights, from, from + length));
}

function marked(selector, text, terms) {
  const element = h(selector, { dir: "auto" });
  write(element, text, marksIn(text, terms));
  return element;
}

export const optionsOf = (list) => [...list.querySelectorAll("[role=option]")];

export function createResults(parts) {
  const { store, t, root, search, prefix } = parts;
  const list = h("div.ss-list", {
    role: "listbox",
    id: `${prefix}-list`,
    "data-semsearch": "list",
    "aria-label": t("results"),
  });
  const href = (parts.href = linkMaker(root));

  function render({ answer, nearest }) {
    const results = answer?.results.length ? answer.results : nearest;
    // The engine knows which words count.
    const terms = wordsOf(results.flatMap(({ sections }) => sections));
    let index = 0;
    const option = (selector, attributes, ...children) => {
      const id = `${prefix}-option-${index++}`;
      return h(selector, { role: "option", id, "aria-selected": "false", ...attributes }, ...children);
    };
    const groups = results.map(({ page, sections, expanded }) => {
      const shown = expanded ? sections : sections.slice(0, SECTIONS);
      const options = shown.map((section, place) => {
        const heading = [place ? headingOf(page, section, terms) : titleOf(page, section, terms)].flat();
        heading[0].append(" ", badge(section));
        const link = option(
          place ? "a.ss-option.ss-section" : "a.ss-option",
          { href: href(section), tabindex: -1, "data-semsearch": "option" },
          icon(place ? (section.kind === "code" ? "code" : "section") : "page"),
          h("div.ss-text", {}, heading, renderExcerpt(section, place ? 3 : 5)),
        );
        return Object.assign(link, { hit: { page, section } });
      });
      if (sections.length > shown.length) {
        const more = option("div.ss-option.ss-section.ss-more", {}, icon("more"), t("more_sections"));
        more.addEventListener("click", () => search.expand(page.path));
        options.push(more);
      }
      return h("div.ss-page", { role: "group", "aria-label": page.title }, options);
    });
    list.replaceChildren(...groups);
    set(list, "hidden", !groups.length);
  }

  const badge = ({ kind, language }) =>
    kind === "text" ? "" : h("span.ss-kind", {}, (kind !== "table" && language) || t(`kind_${kind}`));

  function select({ active }) {
    optionsOf(list).forEach((option, index) => {
      set(option, "aria-selected", `${index === active}`);
      if (index === active) option.scrollIntoView({ block: "nearest" });
    });
  }

  store.on(["answer", "nearest"], render);
  store.on(["active", "answer", "nearest"], select);
  store.on(["busy"], ({ busy }) => set(list, "aria-busy", busy && "true"));
  return list;
}

/** Links never lead off the site; `h` makes Material highlight words. */
function linkMaker(root) {
  const material = document.querySelector(".md-container");
  return (section) => {
    const target = URL.canParse(section.url, root) ? new URL(section.url, root) : root;
    const words = wordsOf([section]);
    const long = words.filter((word) => word.length > 2 || !words[1]);
    if (material && long.length) target.searchParams.set("h", long.slice(0, 8).join(" "));
    return target.origin === root.origin ? target.href : root.href;
  };
}

const headingsOf = ({ title }, { heading_hierarchy: headings }) => headings.slice(headings[0] === title ? 1 : 0);

function titleOf(page, section, terms) {
  const folders = page.path.split("/").slice(0, -1).filter(Boolean);
  const names = folders.map((slug) => slug.charAt(0).toUpperCase() + slug.slice(1).replace(/[-_]+/g, " "));
  return [
    marked("div.ss-title", page.title || page.url, terms),
    crumbs([...names, ...headingsOf(page, section)], terms),
  ];
}

function headingOf(page, section, terms) {
  const headings = headingsOf(page, section);
  const last = headings.pop() ?? page.title;
  return h("div.ss-heading", {}, crumbs(headings, terms), headings.length && " › ", marked("span", last, terms));
}

function crumbs(names, terms) {
  const parts = names.flatMap((name, index) => [index && " › ", marked("span", name, terms)]);
  return names.length && h("span.ss-crumbs", {}, parts);
}
