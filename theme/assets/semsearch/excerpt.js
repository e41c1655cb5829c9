/* An excerpt is light Markdown: fences, lists, table rows, `code`. Rendered as such, marks and all, as text nodes. */

import { h } from "./dom.js";

const FENCE = /^\s*(```|~~~)\s*([\w+#.-]*)/;
const ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s+/;
const RULE = /^\s*\|?[\s|:-]+\|?\s*$/;

/** Renders an excerpt; `highlights` are sorted `[start, end)` offsets in UTF-16 units. */
export function renderExcerpt({ excerpt, highlights = [], kind }) {
  const root = h("div", { class: "ss-excerpt", dir: "auto" });
  const write = (parent, start, end) => writeMarked(parent, excerpt, highlights, start, end);
  for (const block of blocksOf(excerpt, kind === "code")) root.append(RENDER[block.type](block, write, excerpt));
  return root;
}

/** Groups consecutive lines of one kind; each line keeps its offsets, so that marks still fit. */
function blocksOf(text, isCode) {
  const blocks = [];
  let fenced = isCode && !/^\s*(```|~~~)/m.test(text);
  if (!fenced) fenced = startsInside(text);
  let offset = 0;
  for (const line of text.split("\n")) {
    const start = offset;
    const end = start + line.length;
    offset = end + 1;
    if (FENCE.test(line)) {
      fenced = !fenced;
      blocks.push({ type: "gap" });
      continue;
    }
    const type = fenced ? "code" : typeOf(line);
    if (type === "table" && RULE.test(line)) continue;
    const last = blocks.at(-1);
    if (last?.type === type) last.lines.push([start, end]);
    else blocks.push({ type, lines: [[start, end]] });
  }
  return blocks.filter(({ type }) => type !== "gap");
}

/** An excerpt cut out of the middle of a fence: its only fence closes what began before it. */
function startsInside(text) {
  const fences = text.split("\n").filter((line) => FENCE.test(line));
  return fences.length % 2 === 1 && !FENCE.exec(fences[0])[2] && !FENCE.test(text.split("\n")[0]);
}

function typeOf(line) {
  if (!line.trim()) return "gap";
  if (/^\s*\|.*\|/.test(line)) return "table";
  return ITEM.test(line) ? "list" : "text";
}

const RENDER = {
  code: ({ lines }, write) => {
    const code = h("code");
    write(code, lines[0][0], lines.at(-1)[1]);
    return h("pre", { dir: "ltr" }, code);
  },
  list: ({ lines }, write, text) =>
    h(
      "ul",
      {},
      lines.map(([start, end]) => {
        const item = h("li");
        writeInline(item, text, start + ITEM.exec(text.slice(start, end))[0].length, end, write);
        return item;
      }),
    ),
  table: ({ lines }, write, text) => h("table", {}, h("tbody", {}, lines.map((line) => rowOf(line, write, text)))),
  text: ({ lines }, write, text) => {
    const paragraph = h("p");
    const [start, end] = [lines[0][0], lines.at(-1)[1]];
    const heading = /^#{1,6}\s+/.exec(text.slice(start, end));
    writeInline(paragraph, text, start + (heading?.[0].length ?? 0), end, write);
    return paragraph;
  },
};

function rowOf([start, end], write, text) {
  const row = h("tr");
  let from = text.indexOf("|", start) + 1;
  while (from > 0 && from <= end) {
    let to = text.indexOf("|", from);
    while (to > 0 && text[to - 1] === "\\") to = text.indexOf("|", to + 1);
    if (to < 0 || to > end) to = end;
    if (to === end && !text.slice(from, to).trim()) break;
    const cell = h("td");
    const raw = text.slice(from, to);
    writeInline(cell, text, from + raw.length - raw.trimStart().length, to - (raw.length - raw.trimEnd().length), write);
    row.append(cell);
    from = to + 1;
  }
  return row;
}

/** Writes a range, with `code spans` as <code>. */
function writeInline(parent, text, start, end, write) {
  let at = start;
  for (const match of text.slice(start, end).matchAll(/(`+)([^`]+)\1/g)) {
    const from = start + match.index;
    write(parent, at, from);
    const code = h("code");
    write(code, from + match[1].length, from + match[0].length - match[1].length);
    parent.append(code);
    at = from + match[0].length;
  }
  write(parent, at, end);
}

/** Writes a range of the text as text nodes, what lies in a highlight inside <mark>. */
export function writeMarked(parent, text, highlights, start = 0, end = text.length) {
  let at = start;
  for (const [from, to] of highlights) {
    const [left, right] = [Math.max(from, at), Math.min(to, end)];
    if (left >= right) continue;
    parent.append(text.slice(at, left), h("mark", {}, text.slice(left, right)));
    at = right;
  }
  if (at < end) parent.append(text.slice(at, end));
}
