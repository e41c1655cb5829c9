/* Turns the light Markdown of a whole section into elements, with the matching words marked. Loaded by the preview. */

import { cellsOf, ITEM, linesOf, write, writeInline } from "./excerpt.js";
import { h } from "./ui.js";

export function renderMarkdown(text, highlights, kind) {
  const root = h("div.ss-excerpt", { dir: "auto" });
  for (const { type, ranges } of blocksOf(linesOf(text, highlights, kind))) {
    const [start, end] = [ranges[0][0], ranges.at(-1)[1]];
    if (type === "code") {
      const code = h("code");
      write(code, text, highlights, start, end);
      root.append(h("pre", { dir: "ltr" }, code));
    } else if (type === "ol" || type === "ul") {
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

/** Groups neighbouring lines of one type. */
function blocksOf(lines) {
  const blocks = [];
  for (const { type, range } of lines) {
    if (blocks.at(-1)?.type === type) blocks.at(-1).ranges.push(range);
    else blocks.push({ type, ranges: [range] });
  }
  return blocks.filter(({ type }) => type);
}
