/* Builds elements without markup, and looks up the dialog's texts. */

/** Sets an attribute. A false value removes it. */
export function set(element, name, value) {
  if (value) element.setAttribute(name, value === true ? "" : value);
  else element.removeAttribute(name);
  return element;
}

/** Creates `tag.class`. False children are left out. */
export function h(selector, attributes = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag);
  element.classList.add(...classes);
  for (const name in attributes) set(element, name, attributes[name]);
  element.append(...children.flat().filter(Boolean));
  return element;
}

/** Replaces the children of an element. A link, button or field with the focus passes it on to its replacement. */
export function replace(place, ...children) {
  const stops = () => [...place.querySelectorAll("a, button, input")];
  const at = stops().indexOf(document.activeElement);
  place.replaceChildren(...children.flat().filter(Boolean));
  if (at >= 0) (stops()[at] ?? stops().at(-1))?.focus({ preventScroll: true });
}

export function button(name, attributes, act, ...children) {
  const element = h(`button.${name}`, { type: "button", ...attributes }, ...children);
  element.addEventListener("click", act);
  return element;
}

/** Adds a style sheet and waits for it. */
export function loadStyle(place, url) {
  const link = h("link", { rel: "stylesheet", href: url });
  const loaded = new Promise((resolve, reject) => Object.assign(link, { onload: resolve, onerror: reject }));
  place.append(link);
  return loaded;
}

const PATHS = {
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Zm5 11.5 5 5",
  close: "m6 6 12 12m0-12L6 18",
  page: "M7 3h7l4 4v14H6V3Zm7 0v4h4M9 12h6m-6 4h6",
  section: "m9.5 4-2 16m9-16-2 16m-10-10.5h16m-17 5h16",
  code: "m8.5 7-5 5 5 5m7-10 5 5-5 5",
  filter: "M4 6h16M7 12h10m-7 6h4",
  more: "m7 10 5 5 5-5",
  recent: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16Zm0 4v4.5l3 2",
};

export function icon(name) {
  const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  set(path, "d", PATHS[name]);
  set(svg, "viewBox", "0 0 24 24");
  set(svg, "class", "ss-icon");
  set(svg, "aria-hidden", "true");
  svg.append(path);
  return svg;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/; // letters
const LEAST = 0.4; // share of the words

/** Returns the direction of a text: that of its words, since a Hebrew sentence may begin with the name of a program. */
export function directionOf(text) {
  if (!RIGHT_TO_LEFT.test(text)) return "ltr";
  const words = text.match(/\p{L}[\p{L}\p{M}\p{N}_]*/gu) ?? [];
  return words.filter((word) => RIGHT_TO_LEFT.test(word)).length > words.length * LEAST ? "rtl" : "ltr";
}

/** Keeps the signs of a text that stands in another one on their side, with U+2068 and U+2069. */
export const isolated = (text, around = "") =>
  RIGHT_TO_LEFT.test(around + text) ? `\u2068${text}\u2069` : `${text}`;

/** Cuts a pasted question between words, so that a line or an announcement that repeats it stays short. */
const shortened = (text) => {
  const [begin] = /^[^]{0,100}(?!\S)|^[^]{100}/u.exec(text);
  return begin === text ? text : `${begin}…`;
};

const ENGLISH = {
  dir: "ltr",
  search: "Search",
  placeholder: "Search the documentation",
  close: "Close search",
  clear: "Clear the search field",
  results: "Search results",
  filters: "Filters",
  facet_tags: "Tags",
  facet_section: "Section",
  facet_language: "Language",
  count_one: "{count} result",
  count_other: "{count} results",
  updated: "updated",
  none: "Nothing found here for “{query}”",
  none_browse: "No page has these filters.",
  nearest: "Without the filters",
  intro: "Introduction",
  more_sections: "{count} more on this page",
  weaker: "Less related ({count})",
  more_results: "Show more results",
  as_page: "Open as a page",
  kind_code: "Code",
  kind_table: "Table",
  kind_api: "API",
  preview: "Preview",
  copied: "Link copied",
  recent: "Recent searches",
  clear_recent: "Clear",
  mode_degraded: "Matching words only: search by meaning is unavailable right now.",
  mode_better: "The search service has answered with better results.",
  mode_offline: "Search is unavailable right now. Trying again…",
};

const LANGUAGES = ["ar", "de", "es", "fa", "fr", "he", "ja", "ko", "pt", "ru", "zh", "zh-hant"];
const TRADITIONAL = ["hant", "tw", "hk", "mo"];

/** Returns `t(key, values)`. Texts that a language lacks are in English. The site may have languages of its own. */
export async function loadStrings(base, language, { strings: overrides, own_strings: own = [] }) {
  const [first, ...others] = language.toLowerCase().split(/[-_]/);
  const traditional = first === "zh" && !others.includes("hans") && others.some((part) => TRADITIONAL.includes(part));
  const wanted = traditional ? "zh-hant" : first;
  const load = async () => (await fetch(new URL(`strings/${wanted}.json`, base))).json();
  const found = [...LANGUAGES, ...own].includes(wanted) && (await load().catch(() => null));
  const code = found || (wanted && overrides?.count_other) ? wanted : "en"; // the options may be a translation
  const strings = { ...ENGLISH, ...found, ...overrides };
  const plurals = new Intl.PluralRules(code);
  const { format: number } = new Intl.NumberFormat(code);
  const t = (key, values = {}) => {
    const text = strings[`${key}_${plurals.select(values.count)}`] ?? strings[key] ?? strings[`${key}_other`];
    return text.replace(/\{(\w+)\}/g, (_, name) =>
      name === "count" ? number(values.count) : isolated(shortened(values[name]), text),
    );
  };
  // Modules that are loaded later bring their own English texts.
  const add = (english) => Object.assign(strings, { ...english, ...strings });
  // A translation that a site has from 0.1.0 does not say its direction.
  const { dir = found && RIGHT_TO_LEFT.test(strings.search) && "rtl" } = { ...found, ...overrides };
  return Object.assign(t, { language: code, number, dir, add });
}

const OWN_FACETS = { tags: "facet_tags", "page.section": "facet_section", "page.language": "facet_language" };

/** Translates the labels of the facets that a site without own facets has. */
export const translatedFacets = (t, fields) =>
  fields.map((field) => {
    const key = OWN_FACETS[field.name];
    return field.label === ENGLISH[key] ? { ...field, label: t(key) } : field;
  });
