/* The active filters, each with a button to remove it. Loaded with the first of them. */

import { activeFilters, toggled } from "./state.js";
import { button, h, icon, isolated, replace } from "./ui.js";
import { valueText } from "./values.js";

const ENGLISH = {
  clear_filters: "Clear all",
  remove_filter: "Remove filter {filter}",
};

/** Returns the active filters as texts, each with the filters that remain without it. */
export function chipsOf(t, { filters, fields }) {
  return activeFilters(filters).flatMap(([name, filter]) => {
    const field = fields.find((item) => item.name === name);
    const label = field?.label ?? name;
    if (!Array.isArray(filter))
      return { text: `${label}: ${filter.min || "…"}–${filter.max || "…"}`, without: { ...filters, [name]: null } };
    return filter.map((value) => ({
      text: `${label}: ${isolated(valueText(t, field, value), label)}`,
      without: toggled(filters, name, value),
    }));
  });
}

export function fill(bar, parts) {
  const { store, t, search, setFilters } = parts;
  t.add(ENGLISH);
  const drop = (filters) => () => {
    setFilters(filters);
    if (bar.hidden) parts.refocus();
    else bar.querySelector("button").focus();
  };
  store.on(["filters", "fields", "answer"], (state) => {
    const chips = chipsOf(t, state);
    replace(
      bar,
      chips.map(({ text, without }) =>
        button(
          "ss-filter",
          { "aria-label": t("remove_filter", { filter: text }) },
          drop(without),
          h("span", { dir: "auto" }, text),
          icon("close"),
        ),
      ),
      button("ss-quiet", {}, drop({}), t("clear_filters")),
    );
    // The theme's own index, which answers while the sidecar is down, has no filters. While it is slow, they stay.
    bar.hidden = !chips.length || (search.down && state.answer?.facets === null);
  });
}
