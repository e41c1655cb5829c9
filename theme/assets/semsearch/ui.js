/* Elements, never from markup; strings. */

/** Sets an attribute; a false value removes it. */
export function set(element, name, value) {
  if (value) element.setAttribute(name, value === true ? "" : value);
  else element.removeAttribute(name);
  return element;
}

/** Creates `tag.class`; false and null children are left out. */
export function h(selector, attributes = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag);
  element.classList.add(...classes);
  for (const name in attributes) set(element, name, attributes[name]);
  element.append(...children.flat().filter(Boolean));
  return element;
}

export function button(name, attributes, act, ...children) {
  const element = h(`button.${name}`, { type: "button", ...attributes }, ...children);
  element.addEventListener("click", act);
  return element;
}

const PATHS = {
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Zm5 11.5 5 5",
  close: "m6 6 12 12m0-12L6 18",
  page: "M7 3h7l4 4v14H6V3Zm7 0v4h4M9 12h6m-6 4h6",
  section: "m9.5 4-2 16m9-16-2 16m-10-10.5h16m-17 5h16",
  code: "m8.5 7-5 5 5 5m7-10 5 5-5 5",
  recent: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16Zm0 4v4.5l3 2",
  filter: "M4 6h16M7 12h10m-7 6h4",
  more: "m7 10 5 5 5-5",
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

export const ENGLISH = {
  search: "Search",
  placeholder: "Search the documentation",
  close: "Close search",
  clear: "Clear the search field",
  results: "Search results",
  filters: "Filters",
  count_one: "{count} result",
  count_other: "{count} results",
  none: "Nothing found for “{query}”",
  more_sections: "More on this page",
  more_results: "Show more results",
  as_page: "Open as a page",
  kind_code: "Code",
  kind_table: "Table",
  kind_api: "API",
  preview: "Preview",
  copied: "Link copied",
  start: "Ask a question or type a word.",
  suggestions: "Try",
  recent: "Recent searches",
  remove_recent: "Remove “{query}” from the recent searches",
  clear_recent: "Clear",
  stop_recent: "Don’t keep",
  keep_recent: "Keep recent searches",
  find_in: "Find in {field}",
  yes: "Yes",
  no: "No",
  mode_degraded: "Matching words only: search by meaning is unavailable right now.",
  mode_offline: "Search is unavailable right now. Trying again…",
  hint_move: "move",
  hint_open: "open",
  hint_copy: "copy link",
  hint_close: "close",
};

const LANGUAGES = ["ar", "de", "es", "fr", "ja", "zh"];

/** Returns `t(key, values)`; languages are files, what they lack is English. */
export async function loadStrings(base, language, overrides) {
  const [wanted] = language.toLowerCase().split(/[-_]/);
  const load = async () => (await fetch(new URL(`strings/${wanted}.json`, base))).json();
  const found = LANGUAGES.includes(wanted) && (await load().catch(() => null));
  const code = found ? wanted : "en";
  const strings = { ...ENGLISH, ...found, ...overrides };
  const plurals = new Intl.PluralRules(code);
  const { format: number } = new Intl.NumberFormat(code);
  const t = (key, values = {}) => {
    const text = strings[`${key}_${plurals.select(values.count)}`] ?? strings[key] ?? strings[`${key}_other`];
    return text.replace(/\{(\w+)\}/g, (_, name) => (name === "count" ? number(values.count) : values[name]));
  };
  // For the English of parts that are loaded later.
  const add = (english) => Object.assign(strings, { ...english, ...strings });
  return Object.assign(t, { language: code, number, rtl: code === "ar", add });
}
