/* Shows the section of the active row beside the list. Loaded with the first answer if there is room. */

import {
  blocksOf, boxOf, cellsOf, directionOfLines, isBare, ITEM, linesOf, marked, marksIn, renderCode, wordsOf, writeLine,
} from "./excerpt.js";
import { optionsOf } from "./results.js";
import { crumbs } from "./rows.js";
import { button, h, loadStyle, replace, set } from "./ui.js";

const ENGLISH = {
  open_tab: "Open in new tab",
  copy_link: "Copy link",
  copy_code: "Copy code",
  copied_code: "Copied",
  on_page: "On this page",
};
const REST = 250; // milliseconds on a row before its page is fetched
const PARTS = 5; // below a heading without text
const SAID = 2000; // milliseconds for which a button says what it did

/** Shows sections in a pane. */
class Preview {
  #shown = null;
  #timer = 0;

  constructor(pane, { store, t, href, status }) {
    Object.assign(this, { pane, store, t, href, status });
  }

  clear() {
    this.#shown = null;
    this.pane.replaceChildren();
  }

  /** Shows the part of a section that the answer has; then the whole section, and the names of its neighbours. */
  show(hit) {
    const { pane } = this;
    if (hit === this.#shown) return;
    this.#shown = hit;
    clearTimeout(this.#timer);
    pane.scrollTop = 0;
    this.#render(hit, [hit.section]);
    const { engine } = this.store.state.answer;
    if (!engine.page) return;
    this.#timer = setTimeout(async () => {
      const page = await engine.page(hit.page.path).catch(() => null);
      if (!page || hit !== this.#shown) return;
      // A reader who has scrolled stays at the same line.
      const line = () => pane.querySelector(".ss-current")?.offsetTop ?? 0;
      const [scrolled, before] = [pane.scrollTop, line()];
      this.#render(hit, page.sections);
      if (scrolled) pane.scrollTop = scrolled + line() - before;
    }, REST);
  }

  #render(hit, sections) {
    const { page, section } = hit;
    const texts = textsOf(section, sections);
    const headings = section.heading_hierarchy;
    const parts = [
      crumbs(headings.slice(0, -1)),
      h("p.ss-title", {}, marked(headings.at(-1) ?? page.title)),
      this.#offers(hit),
      ...texts,
      this.#outline(sections, hit),
    ];
    for (const code of texts.flatMap((text) => [...text.querySelectorAll("pre")]))
      code.after(this.#copyButton("copy_code", "copied_code", () => code.textContent));
    set(this.pane, "lang", page.language);
    replace(this.pane, parts);
  }

  #offers(hit) {
    const href = this.href(hit.section);
    const link = h("a.ss-button", { href, target: "_blank", rel: "noopener" }, this.t("open_tab"));
    return h("div.ss-offers", { lang: this.t.language }, Object.assign(link, { hit }), this.#copyButton("copy_link", "copied", () => href));
  }

  /** Creates a button that copies a text and says so for a while. */
  #copyButton(name, done, text) {
    const { t } = this;
    return button("ss-button.ss-copy", { lang: t.language }, ({ currentTarget: { firstChild } }) => {
      if (!copy(text())) return;
      firstChild.data = this.status.textContent = t(done);
      setTimeout(() => (firstChild.data = t(name)), SAID);
    }, t(name));
  }

  /** Lists the other sections of the page. */
  #outline(sections, hit) {
    const urls = new Map(sections.map(({ url, heading_hierarchy: names }) => [url, names]));
    if (urls.size < 2) return "";
    const items = [...urls].map(([url, names]) => {
      const item = h("a", { href: this.href({ url }) }, marked(names.at(-1)));
      if (url === hit.section.url) item.setAttribute("aria-current", "true");
      return h(`li.ss-level${Math.min(names.length, 4)}`, {}, Object.assign(item, { hit }));
    });
    const name = this.t("on_page");
    return h("nav.ss-outline", { "aria-label": name }, h("div.ss-caption", { lang: this.t.language }, name), h("ul", {}, items));
  }
}

export async function fill(pane, { store, t, list, href, status }) {
  t.add(ENGLISH);
  await loadStyle(pane.parentNode, new URL("preview.css", import.meta.url)).catch(() => {});
  const preview = new Preview(pane, { store, t, href, status });
  store.onPainted(["answer", "nearest", "active"], ({ active }) => {
    // A row such as "more on this page" has no section: the section before it stays.
    const isBefore = ({ hit }, index) => hit?.section && index <= Math.max(active, 0);
    const { hit } = optionsOf(list).findLast(isBefore) ?? {};
    if (hit) preview.show(hit);
    else if (!optionsOf(list).some((option) => option.hit?.section)) preview.clear();
  });
}

/** Renders the text of a section; below a heading without text, what its first parts say. */
function textsOf(section, sections) {
  const words = wordsOf([section]);
  const same = sections.filter(({ url }) => url === section.url);
  const own = (same.length ? same : [section]).filter((part) => !isBare(part));
  const parts = own.length ? own : partsOf(section, sections).slice(0, PARTS);
  return parts.flatMap((part, at) => {
    const { content, url, heading_hierarchy: names, chunk_index: index } = part;
    const begins = !own.length && url !== parts[at - 1]?.url;
    const text = !isBare(part) && renderMarkdown(content, marksIn(content, words));
    if (text) text.classList.toggle("ss-current", index === section.chunk_index);
    return [begins && h("p.ss-part", {}, marked(names.at(-1))), text].filter(Boolean);
  });
}

/** Turns the light Markdown of a section into elements, with the matching words marked. */
function renderMarkdown(text, highlights) {
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

/** Returns the sections below a heading. */
const partsOf = ({ heading_hierarchy: path }, sections) =>
  sections.filter(({ heading_hierarchy: names }) => names.length > path.length && path.every((name, at) => names[at] === name));

/** Copies a text. Unlike `navigator.clipboard` this needs neither a permission nor HTTPS. */
function copy(text) {
  const put = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("copy", put, true);
  const done = document.execCommand("copy");
  removeEventListener("copy", put, true);
  return done;
}
