/* Turns the light Markdown of a whole section into elements, with the matching words marked. Loaded by the preview. */

import { blocksOf, boxOf, cellsOf, directionOfLines, ITEM, linesOf, renderCode, writeLine } from "./excerpt.js";
import { h } from "./ui.js";

export function renderMarkdown(text, highlights) {
  const lines = linesOf(text, highlights);
  const root = h("div.ss-excerpt", { dir: directionOfLines(lines) });
  for (const { type, ranges } of blocksOf(lines)) {
    const [start, end] = [ranges[0][0], ranges.at(-1)[1]];
    if (type === "code") root.append(renderCode(text, highlights, ranges));
    else if (type === "ol" || type === "ul") {
      const items = ranges.map(([from, to]) => {
        const [sign, value, task] = ITEM.exec(text.slice(from, to));
        const item = writeLine(text, highlights, from + sign.length, to);
        return h(task ? "li.ss-task" : "li", { value }, task && boxOf(task), item);
      });
      root.append(h(type, {}, items));
    } else if (type === "table") {
      const rows = ranges.map((range) => h("tr", {}, cellsOf(text, highlights, range, "td")));
      root.append(h("div.ss-table", {}, h("table", {}, h("tbody", {}, rows))));
    } else if (type === "dt" || type === "dd")
      root.append(...ranges.map((range) => h(`p.ss-${type}`, {}, writeLine(text, highlights, ...range))));
    else root.append(h("p", {}, writeLine(text, highlights, start, end)));
  }
  return root;
}
