/* The list of results: one group a page, at most three sections of it, the rest on request. */

import { h, icon, set } from "./dom.js";
import { renderExcerpt, writeMarked } from "./excerpt.js";
import { marksIn, termsOf } from "./terms.js";

const SECTIONS = 3;

/** The listbox; it follows the store's `answer`, `nearest` and `active`. */
export function createResults(store, { t, href, search }) {
  const list = h("div", {
    class: "ss-list",
    role: "listbox",
    id: "semsearch-list",
    "data-semsearch": "list",
    "aria-label": t("results"),
    tabindex: -1,
  });

  function render({ answer, nearest }) {
    const results = answer ? (answer.results.length ? answer.results : nearest) : [];
    const terms = termsOf(answer?.query ?? "");
    let index = 0;
    const groups = results.map((result) => {
      const shown = result.expanded ? result.sections : result.sections.slice(0, SECTIONS);
      const options = shown.map((section, place) => {
        const make = place === 0 ? leadOption : sectionOption;
        return make({ result, section, terms, href: href(section), id: `semsearch-option-${index++}` });
      });
      if (shown.length < result.sections.length) options.push(moreOption(result, `semsearch-option-${index++}`));
      return h("div", { class: "ss-page", role: "group", "aria-label": result.page.title }, options);
    });
    list.replaceChildren(...groups);
  }

  function moreOption({ page }, id) {
    const option = h("div", { class: "ss-option ss-more", role: "option", id, "aria-selected": "false" }, icon("more"), t("more_sections"));
    option.addEventListener("click", () => search.expand(page.path));
    return option;
  }

  function select(active) {
    optionsOf(list).forEach((option, index) => {
      set(option, "aria-selected", String(index === active));
      if (index === active) option.scrollIntoView({ block: "nearest" });
    });
  }

  store.subscribe((state, previous) => {
    const changed = state.answer !== previous.answer || state.nearest !== previous.nearest;
    if (changed) render(state);
    if (changed || state.active !== previous.active) select(state.active);
    if (state.busy !== previous.busy) set(list, "aria-busy", state.busy ? "true" : null);
    set(list, "hidden", !list.childElementCount);
  });
  return list;
}

/** Every option in order, "more" included: what the arrow keys walk. */
export const optionsOf = (list) => [...list.querySelectorAll("[role=option]")];

function optionLink({ href, id }, kind, ...children) {
  return h(
    "a",
    { class: `ss-option ${kind}`, role: "option", id, href, tabindex: -1, "aria-selected": "false", "data-semsearch": "option" },
    ...children,
  );
}

function marked(tag, className, text, terms) {
  const element = h(tag, { class: className, dir: "auto" });
  writeMarked(element, text, marksIn(text, terms));
  return element;
}

/** The page's best section, under the page's title. */
function leadOption({ result: { page }, section, terms, ...link }) {
  const trail = trailOf(page, section);
  return optionLink(
    link,
    "ss-lead",
    icon("page"),
    h(
      "div",
      { class: "ss-text" },
      marked("div", "ss-title", page.title || page.url || "…", terms),
      trail.length ? crumbs(trail, terms) : null,
      renderExcerpt(section),
    ),
    h("span", { class: "ss-enter" }, icon("enter")),
  );
}

function sectionOption({ result: { page }, section, terms, ...link }) {
  const headings = headingsBelow(page, section);
  const heading = headings.pop() ?? section.node_name ?? page.title;
  return optionLink(
    link,
    "ss-section",
    icon(section.kind === "code" || section.kind === "api" ? "code" : "section"),
    h(
      "div",
      { class: "ss-text" },
      h("div", { class: "ss-heading" }, headings.length ? crumbs(headings, terms) : null, marked("span", "", heading, terms)),
      renderExcerpt(section),
    ),
    h("span", { class: "ss-enter" }, icon("enter")),
  );
}

/** The headings without the page's own title. */
function headingsBelow({ title }, { heading_hierarchy: headings = [] }) {
  return headings[0] === title ? headings.slice(1) : [...headings];
}

/** Folder names, then headings: "Guide › Authentication › Tokens". */
function trailOf(page, section) {
  const folders = (page.path ?? page.url ?? "").split("/").slice(0, -1).filter(Boolean);
  const names = /\.[a-z]+$/i.test(page.path ?? "") ? folders : folders.slice(0, -1);
  return [...names.map(humanize), ...headingsBelow(page, section)];
}

function humanize(slug) {
  const words = slug.replace(/[-_]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function crumbs(names, terms) {
  const trail = h("span", { class: "ss-crumbs" });
  names.forEach((name, index) => {
    if (index) trail.append(h("span", { class: "ss-sep", "aria-hidden": "true" }, "›"));
    trail.append(marked("span", "", name, terms));
  });
  return trail;
}
