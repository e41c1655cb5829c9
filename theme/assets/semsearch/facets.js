/* Facets: checkboxes with counts, any of the values of one field, all of the fields; ranges for numbers and dates. */

import { h, icon, set } from "./dom.js";
import { activeFilters, toggled } from "./state.js";

const RANGES = { integer: "number", number: "number", date: "date" };
const LONG = 10; // from here on a list has a field to find a value in it
const OPEN = 3; // groups open at first

/** The text of a facet value. */
export function valueLabel(t, field, value) {
  if (field?.type === "boolean") return t(String(value) === "true" ? "yes" : "no");
  return String(value);
}

/** "Tags: security", or "Year: 2023–2025". */
export function filterLabel(t, fields, name, value) {
  const field = fields.find((item) => item.name === name);
  const text = Array.isArray(value) ? value.join("–") : valueLabel(t, field, value);
  return `${field?.label ?? name}: ${text}`;
}

/** Each active filter as `{name, value, text, without}`; `without` are the filters that remain after dropping it. */
export function filterChips(t, { filters, fields }) {
  return activeFilters(filters).flatMap(([name, filter]) =>
    Array.isArray(filter)
      ? filter.map((value) => ({
          text: filterLabel(t, fields, name, value),
          without: toggled(filters, name, value, false),
        }))
      : [{ text: filterLabel(t, fields, name, [filter.min, filter.max]), without: { ...filters, [name]: undefined } }],
  );
}

/** A real checkbox with its value and count. */
export function facetBox({ t, field, change }) {
  const name = h("span", { class: "ss-facet-value", dir: "auto" });
  const count = h("span", { class: "ss-count" });
  const box = h("input", { type: "checkbox", "data-semsearch": "facet", "data-field": field.name });
  const row = h("label", { class: "ss-facet" }, box, name, count);
  box.addEventListener("change", () => change(field.name, box.value, box.checked));
  return {
    row,
    box,
    update({ value, count: number }, checked) {
      box.value = String(value);
      box.checked = checked;
      name.textContent = valueLabel(t, field, value);
      count.textContent = number === undefined ? "" : t.number(number);
    },
  };
}

/** The panel beside the results. Groups and rows are kept between answers, so that focus and scrolling survive. */
export function createFacets(store, { t, setFilters }) {
  const panel = h("div", { class: "ss-facets", role: "group", "aria-label": t("filters"), id: "semsearch-facets" });
  const groups = new Map();
  const change = (name, value, on) => setFilters(toggled(store.state.filters, name, value, on));

  store.subscribe((state, previous) => {
    if (state === previous || (state.answer === previous.answer && state.filters === previous.filters && state.fields === previous.fields)) return;
    const counted = state.answer?.source === "sidecar" ? state.answer.facets : {};
    for (const field of state.fields) {
      if (!groups.has(field.name)) {
        const make = RANGES[field.type] ? rangeGroup : valueGroup;
        const group = make({ t, field, change, setFilters, store, open: groups.size < OPEN });
        groups.set(field.name, group);
        panel.append(group.element);
      }
      groups.get(field.name).update(counted[field.name], state.filters[field.name]);
    }
    set(panel, "hidden", ![...groups.values()].some(({ element }) => !element.hidden));
  });
  return panel;
}

function shell(field, open, ...children) {
  const badge = h("span", { class: "ss-badge" });
  const summary = h("summary", {}, h("span", { class: "ss-facet-label" }, field.label), badge, icon("more"));
  return { badge, element: h("details", { class: "ss-group", open, "data-field": field.name }, summary, ...children) };
}

function valueGroup({ t, field, change, open }) {
  const list = h("div", { class: "ss-values", role: "group", "aria-label": field.label });
  const find = h("input", { type: "text", class: "ss-find", hidden: true, placeholder: t("find_in", { field: field.label }), "aria-label": t("find_in", { field: field.label }) });
  const { element, badge } = shell(field, open, find, list);
  const rows = new Map();
  const narrow = () => {
    const wanted = find.value.trim().toLowerCase();
    for (const { row, box } of rows.values())
      set(row, "hidden", wanted !== "" && !box.checked && !row.textContent.toLowerCase().includes(wanted));
  };
  find.addEventListener("input", narrow);

  function update(counts = [], selected = []) {
    const shown = counts.filter(({ value, count }) => count > 0 || selected.includes(String(value)));
    const known = new Set(shown.map(({ value }) => String(value)));
    shown.push(...selected.filter((value) => !known.has(value)).map((value) => ({ value, count: 0 })));
    const names = new Set(shown.map(({ value }) => String(value)));
    const focused = list.contains(document.activeElement);
    for (const [value, { row }] of rows) if (!names.has(value)) { row.remove(); rows.delete(value); }
    for (const item of shown) {
      const value = String(item.value);
      if (!rows.has(value)) rows.set(value, facetBox({ t, field, change }));
      const entry = rows.get(value);
      entry.update(item, selected.includes(value));
      // Moving the row under the reader's hands would lose the focus; the order waits.
      if (!focused || !entry.row.isConnected) list.append(entry.row);
    }
    badge.textContent = selected.length ? t.number(selected.length) : "";
    set(find, "hidden", shown.length < LONG && !find.value);
    set(element, "hidden", !shown.length);
    if (selected.length) element.open = true;
    narrow();
  }
  return { element, update };
}

function rangeGroup({ t, field, setFilters, store, open }) {
  const ends = ["min", "max"].map((end) => {
    const input = h("input", { type: RANGES[field.type], class: "ss-range", "data-semsearch": "range", "data-field": field.name, step: field.type === "number" ? "any" : null });
    input.addEventListener("change", () => {
      const filter = { min: "", max: "", ...store.state.filters[field.name], [end]: input.value };
      setFilters({ ...store.state.filters, [field.name]: filter });
    });
    return { end, input };
  });
  const labels = ends.map(({ end, input }) => h("label", { class: "ss-end" }, h("span", {}, t(end === "min" ? "from" : "to")), input));
  const { element, badge } = shell(field, open, h("div", { class: "ss-ends", role: "group", "aria-label": field.label }, labels));

  function update(counts, filter) {
    for (const { end, input } of ends) {
      const value = filter?.[end] ?? "";
      if (input.value !== value && input !== document.activeElement) input.value = value;
    }
    const bounds = (counts ?? []).map(({ value }) => value).sort((a, b) => (a < b ? -1 : 1));
    if (RANGES[field.type] === "number" && bounds.length) {
      set(ends[0].input, "placeholder", bounds[0]);
      set(ends[1].input, "placeholder", bounds.at(-1));
    }
    const active = Boolean(filter?.min || filter?.max);
    badge.textContent = active ? "1" : "";
    if (active) element.open = true;
    set(element, "hidden", !active && counts !== undefined && !counts.length);
  }
  return { element, update };
}
