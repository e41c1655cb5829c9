/* The list: a group for each page, with its best section and the names of others. */

import { isBare, marked, renderExcerpt, sameName, wordsOf } from "./excerpt.js";
import { h, icon, set } from "./ui.js";

const SECTIONS = 3; // named with a page, as many as the API returns
const LINES = 2; // of an excerpt

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
    // The engine decides which words count.
    const terms = wordsOf(results.flatMap(({ sections }) => sections));
    let index = 0;
    const option = (selector, attributes, ...children) => {
      const id = `${prefix}-option-${index++}`;
      return h(selector, { role: "option", id, "aria-selected": "false", ...attributes }, ...children);
    };
    const link = (selector, hit, ...children) => {
      const target = { href: href(hit.section), tabindex: -1, draggable: "false", "data-semsearch": "option" };
      return Object.assign(option(selector, target, ...children), { hit });
    };
    const action = (selector, text, act) => {
      const element = option(selector, {}, icon("more"), text);
      element.addEventListener("click", act);
      return element;
    };

    function groupOf(result) {
      const { page, sections, expanded } = result;
      const [best, ...others] = expanded ? sections : sections.slice(0, SECTIONS);
      const heading = titleOf(page, best, terms);
      heading[0].append(" ", badge(best));
      const text = h("div.ss-text", {}, heading, !isBare(best) && renderExcerpt(best, LINES));
      const main = link("a.ss-option.ss-main-option", { page, section: best, result }, icon("page"), text);
      const rows = others.map((section) =>
        link(
          "a.ss-option.ss-section",
          { page, section, result },
          icon(section.kind === "code" ? "code" : "section"),
          nameOf(page, section, terms, expanded),
          badge(section),
          expanded && !isBare(section) && renderExcerpt(section, 1),
        ),
      );
      const { more_sections = sections.length - rows.length - 1 } = result;
      const more = expanded || !more_sections ? 0 : (page.chunk_count ?? sections.length) - rows.length - 1;
      if (more > 0)
        rows.push(action("div.ss-option.ss-section.ss-more", t("more_sections", { count: more }), () => search.extend("expand", page.path)));
      const row = rows.length > 0 && h("div.ss-sections", { role: "presentation" }, rows);
      if (expanded) row.classList.add("ss-expanded");
      return h("div.ss-page", { role: "group", "aria-label": page.title }, main, row);
    }

    const matches = results.filter(({ weak }) => !weak);
    const weaker = results.filter(({ weak }) => weak);
    const groups = matches.map(groupOf);
    const folded = answer ? (answer.weaker ?? 0) - weaker.length : 0;
    const complete = answer && answer.results.length >= answer.total;
    if (weaker.length)
      groups.push(h("div.ss-caption.ss-weaker", { role: "presentation" }, t("weaker", { count: answer.weaker })));
    groups.push(...weaker.map(groupOf));
    if (complete && folded > 0)
      groups.push(
        action("div.ss-option.ss-more.ss-unfold", t("weaker", { count: folded }), () => search.extend("addPages", true)),
      );
    const { parentNode: scroller, nextSibling: next } = list;
    // Inserting the list again is not a layout shift: the browser treats its rows as new, not as moved.
    list.remove();
    list.replaceChildren(...groups);
    scroller?.insertBefore(list, next);
    set(list, "hidden", !groups.length);
  }

  const badge = ({ kind, language }) =>
    kind === "text" ? "" : h("span.ss-kind", {}, (kind !== "table" && language) || t(`kind_${kind}`));

  /** The introduction of a page has no heading of its own. */
  function nameOf(page, section, terms, whole) {
    const headings = headingsOf(page, section);
    const last = headings.pop();
    if (!last) return h("span.ss-heading", {}, t("intro"));
    const path = whole && headings.length > 0 && crumbs(headings, terms);
    return h("span.ss-heading", {}, path, path && " › ", marked("span", last, terms));
  }

  function select({ active }) {
    optionsOf(list).forEach((option, index) => set(option, "aria-selected", `${index === active}`));
  }

  store.on(["answer", "nearest"], render);
  store.on(["active", "answer", "nearest"], select);
  store.on(["busy"], ({ busy }) => set(list, "aria-busy", busy && "true"));
  return list;
}

/** Links never lead to another site. `h` makes Material highlight words on the page. */
function linkMaker(root) {
  const settings = document.getElementById("__config")?.textContent ?? "";
  const highlights = settings.includes('"search.highlight"');
  return (section) => {
    const target = URL.canParse(section.url, root) ? new URL(section.url, root) : root;
    const words = wordsOf([section]);
    const long = words.filter((word) => word.length > 2 || !words[1]);
    if (highlights && long.length) target.searchParams.set("h", long.slice(0, 8).join(" "));
    return target.origin === root.origin ? target.href : root.href;
  };
}

/** Returns the headings of a section below the title of its page, which may be repeated as a heading. */
function headingsOf({ title }, { heading_hierarchy: headings }) {
  const first = headings.findIndex((name) => !sameName(name, title));
  return first < 0 ? [] : headings.slice(first);
}

/** Returns the names of the sections of the navigation around a page, or those of its folders. */
function placeOf({ path, title, breadcrumbs = [] }) {
  // The index page of a section has its name.
  if (breadcrumbs.length) return sameName(breadcrumbs.at(-1), title) ? breadcrumbs.slice(0, -1) : breadcrumbs;
  const folders = path.split("/").slice(0, -1).filter(Boolean);
  return folders.map((slug) => slug.charAt(0).toUpperCase() + slug.slice(1).replace(/[-_]+/g, " "));
}

function titleOf(page, section, terms) {
  return [
    marked("div.ss-title", page.title || page.url, terms),
    crumbs([...placeOf(page), ...headingsOf(page, section)], terms),
  ].filter(Boolean);
}

function crumbs(names, terms) {
  const parts = names.flatMap((name, index) => [index && " › ", marked("span", name, terms)]);
  return names.length > 0 && h("div.ss-crumbs", {}, parts);
}
