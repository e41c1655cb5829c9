/* Turns the light Markdown of a whole section into elements, with the matching words marked. Loaded by the preview. */

import { blocksOf, cellsOf, ITEM, linesOf, renderCode, writeInline } from "./excerpt.js";
import { h } from "./ui.js";

export function renderMarkdown(text, highlights, kind) {
  const root = h("div.ss-excerpt", { dir: "auto" });
  for (const { type, ranges } of blocksOf(linesOf(text, highlights, kind))) {
    const [start, end] = [ranges[0][0], ranges.at(-1)[1]];
    if (type === "code") root.append(renderCode(text, highlights, ranges));
    else if (type === "ol" || type === "ul") {
      const items = ranges.map(([from, to]) => {
        const [sign, value] = ITEM.exec(text.slice(from, to));
        return writeInline(h("li", { value }), text, highlights, from + sign.length, to);
      });
      root.append(h(type, {}, items));
    } else if (type === "table") {
      const rows = ranges.map((range) => h("tr", {}, cellsOf(text, highlights, range, "td")));
      root.append(h("table", {}, h("tbody", {}, rows)));
    } else root.append(writeInline(h("p"), text, highlights, start, end));
  }
  return root;
}
