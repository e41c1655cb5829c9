/* The rows of a page in the list: its best section, the names of others, and how many more there are. */

import { isBare, marked, namesIn, renderExcerpt, sameName } from "./excerpt.js";
import { h, icon, set } from "./ui.js";

const SECTIONS = 3; // named with a page, as many as the API returns
const LINES = 2; // of an excerpt

/** Creates the rows of one list. `terms` are the words that are marked in titles and headings. */
export class Rows {
  #count = 0;

  constructor({ t, href, search, prefix }, terms, query) {
    Object.assign(this, { t, href, search, prefix, terms, names: namesIn(query) });
  }

  /** Creates the rows of a page. `caption` is that of its part of the list; screen readers say it after the title. */
  group(result, caption) {
    const { page, sections, expanded, more_sections: further = 0 } = result;
    const [best, ...others] = expanded ? sections : sections.slice(0, SECTIONS);
    const main = set(this.#best(result, best), "aria-description", caption);
    const rows = others.map((section) => this.#section(result, section));
    const more = further + sections.length - rows.length - 1;
    if (more > 0) rows.push(this.#more(result, more));
    const kind = expanded ? "div.ss-sections.ss-expanded" : "div.ss-sections";
    const row = rows.length > 0 && h(kind, { role: "presentation" }, rows);
    const lang = page.language !== this.t.language && page.language;
    return h("div.ss-page", { role: "group", "aria-label": page.title, lang }, main, row);
  }

  /** Creates a row that changes the list. The row that replaces it has another ID, or a screen reader would not say it. */
  action(selector, text, act) {
    const own = { id: `${this.prefix}-more-${this.#count}`, lang: this.t.language };
    const element = this.#option(selector, own, icon("more"), text);
    element.addEventListener("click", act);
    return element;
  }

  #best(result, section) {
    const { page } = result;
    const title = h("div.ss-title", {}, marked(page.title || page.url, this.terms), " ", this.#badge(section));
    const place = crumbs(withoutRepeated([...placeOf(page), ...headingsOf(page, section)]), this.terms);
    const text = h("div.ss-text", {}, title, place, !repeatsHeading(section) && renderExcerpt(section, LINES, this.names));
    return this.#link("a.ss-option.ss-main-option", { page, section, result }, icon("page"), text);
  }

  #section(result, section) {
    const { page, expanded } = result;
    return this.#link(
      "a.ss-option.ss-section",
      { page, section, result },
      icon(section.kind === "code" ? "code" : "section"),
      this.#nameOf(page, section, expanded),
      this.#badge(section),
      expanded && !repeatsHeading(section) && renderExcerpt(section, 1, this.names),
    );
  }

  /** Opens further sections in the list; where no more fit, the page itself. */
  #more({ page, expanded }, count) {
    const selector = ".ss-option.ss-section.ss-more";
    const text = this.t("more_sections", { count });
    if (!expanded) return this.action(`div${selector}`, text, () => this.search.extend("expand", page.path));
    const target = { href: this.href(page), tabindex: -1, draggable: "false" };
    return Object.assign(this.#option(`a${selector}`, target, icon("page"), text), { hit: { page } });
  }

  #link(selector, hit, ...children) {
    const target = { href: this.href(hit.section), tabindex: -1, draggable: "false", "data-semsearch": "option" };
    return Object.assign(this.#option(selector, target, ...children), { hit });
  }

  #option(selector, attributes, ...children) {
    const id = `${this.prefix}-option-${this.#count++}`;
    return h(selector, { role: "option", id, "aria-selected": "false", ...attributes }, ...children);
  }

  #badge({ kind, language }) {
    return kind === "text" ? "" : h("span.ss-kind", {}, (kind !== "table" && language) || this.t(`kind_${kind}`));
  }

  /** The introduction of a page has no heading of its own. */
  #nameOf(page, section, whole) {
    const headings = headingsOf(page, section);
    const last = headings.pop();
    if (!last) return h("span.ss-heading", {}, this.t("intro"));
    const path = whole && crumbs(headings, this.terms);
    return h("span.ss-heading", {}, path, path && " › ", marked(last, this.terms));
  }
}

/** Returns whether neither the section nor its excerpt says more than its heading. */
const repeatsHeading = (section) => isBare(section) && isBare(section, section.excerpt);

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

/** Leaves out names that repeat the one before: a page is often called like the section of the navigation it is in. */
const withoutRepeated = (names) => names.filter((name, index) => !index || !sameName(name, names[index - 1]));

/** Joins names; false if there are none. */
export function crumbs(names, terms) {
  const parts = names.flatMap((name, index) => [index && " › ", marked(name, terms)]);
  return names.length > 0 && h("div.ss-crumbs", {}, parts);
}
