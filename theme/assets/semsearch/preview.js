/* The section of the current result beside the list, where there is room. Loaded with the first answer there. */

import { marksIn, optionsOf, renderExcerpt, wordsOf } from "./results.js";
import { button, h } from "./ui.js";

const ENGLISH = {
  open_tab: "Open in new tab",
  copy_link: "Copy link",
  on_page: "On this page",
};
const REST = 250; // before a page is asked for
const HOVER = 120; // on the way to the preview, other results are crossed

export async function fill(pane, { store, t, list, href }) {
  t.add(ENGLISH);
  const link = h("link", { rel: "stylesheet", href: new URL("preview.css", import.meta.url) });
  await new Promise((resolve) => {
    Object.assign(link, { onload: resolve, onerror: resolve });
    pane.parentNode.append(link);
  });
  let hovered = null;
  let shown = null;
  let timer = 0;

  list.addEventListener("mouseover", ({ target }) => {
    clearTimeout(hovered);
    const { hit } = target.closest("a") ?? {};
    if (hit) hovered = setTimeout(() => show(hit), HOVER);
  });
  list.addEventListener("mouseleave", () => clearTimeout(hovered));
  store.onPainted(["answer", "nearest", "active"], ({ active }) => {
    // "More on this page" has none: the one before it.
    const { hit } = optionsOf(list).findLast((option, index) => option.hit && index <= Math.max(active, 0)) ?? {};
    if (hit) show(hit);
    else if (!list.childElementCount) pane.replaceChildren();
  });

  /** First what the answer has, then the whole section and its neighbours. */
  function show(hit) {
    if (hit === shown) return;
    shown = hit;
    clearTimeout(timer);
    render(hit, [hit.section]);
    const { engine } = store.state.answer;
    if (!engine.page) return;
    timer = setTimeout(async () => {
      const page = await engine.page(hit.page.path).catch(() => null);
      if (page && hit === shown) render(hit, page.sections);
    }, REST);
  }

  function render({ page, section }, sections) {
    const words = wordsOf([section]);
    const same = sections.filter(({ url }) => url === section.url);
    const texts = (same.length ? same : [section]).map(({ content, kind }) => {
      const highlights = marksIn(content, words);
      return renderExcerpt({ excerpt: content, highlights, kind }, Infinity);
    });
    const target = href(section);
    const headings = section.heading_hierarchy;
    const parts = [
      headings.length > 1 && h("p.ss-crumbs", { dir: "auto" }, headings.slice(0, -1).join(" › ")),
      h("p.ss-title", { dir: "auto" }, headings.at(-1) ?? page.title),
      h(
        "div.ss-offers",
        {},
        h("a.ss-button", { href: target, target: "_blank", rel: "noopener" }, t("open_tab")),
        button("ss-button", {}, ({ target: { firstChild } }) => copy(target) && (firstChild.data = t("copied")), t("copy_link")),
      ),
      ...texts,
      outline(sections, section),
    ];
    pane.scrollTop = 0;
    pane.replaceChildren(...parts.filter(Boolean));
  }

  /** The other sections of the page. */
  function outline(sections, current) {
    const urls = new Map(sections.map(({ url, heading_hierarchy: names }) => [url, names]));
    if (urls.size < 2) return "";
    const items = [...urls].map(([url, names]) => {
      const item = h("a", { href: href({ url, excerpt: "", highlights: [] }), dir: "auto" }, names.at(-1));
      if (url === current.url) item.setAttribute("aria-current", "true");
      return h(`li.ss-level${Math.min(names.length, 4)}`, {}, item);
    });
    const name = t("on_page");
    return h("nav.ss-outline", { "aria-label": name }, h("div.ss-caption", {}, name), h("ul", {}, items));
  }
}

/** Works without a permission and without HTTPS, unlike `navigator.clipboard`. */
function copy(text) {
  const put = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("copy", put, { capture: true, once: true });
  return document.execCommand("copy");
}
