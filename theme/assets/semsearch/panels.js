/* What stands around the list: facets, recent and suggested searches. */

import { countFilters, toggled } from "./state.js";
import { button, h, icon, set } from "./ui.js";

const RANGES = ["integer", "number", "date"];
const LONG = 10; // such lists have a field to find a value

export const valueText = (t, { type } = {}, value) =>
  type === "boolean" ? t(`${value}` === "true" ? "yes" : "no") : `${value}`;

function facetBox({ t, setFilters, store }, field, value) {
  const box = h("input", { type: "checkbox", value: `${value}`, "data-semsearch": "facet", "data-field": field.name });
  const count = h("span.ss-count");
  const row = h("label.ss-facet", {}, box, h("span.ss-value", { dir: "auto" }, valueText(t, field, value)), count);
  box.addEventListener("change", () => setFilters(toggled(store.state.filters, field.name, box.value, box.checked)));
  const update = (number, checked) => {
    box.checked = checked;
    count.textContent = t.number(number ?? 0);
  };
  return { row, update };
}

/** Groups and rows are kept between answers, so that focus and scrolling survive. */
export function createFacets(parts) {
  const { store, t } = parts;
  const panel = h("div.ss-facets", { role: "group", "aria-label": t("filters"), id: `${parts.prefix}-facets` });
  const groups = {};
  store.on(["answer", "filters"], ({ answer, filters, fields }) => {
    if (!answer?.facets) return;
    for (const field of fields) {
      groups[field.name] ??= (RANGES.includes(field.type) ? rangeGroup : valueGroup)(parts, field);
      const { group, badge, update } = groups[field.name];
      if (!group.parentNode) {
        group.open = panel.childElementCount < 3;
        panel.append(group);
      }
      const filter = filters[field.name];
      const chosen = countFilters({ filter });
      update(answer.facets[field.name] ?? [], filter);
      badge.textContent = chosen || "";
      if (chosen) group.open = true;
    }
  });
  return panel;
}

function groupOf(field, ...content) {
  const badge = h("span.ss-badge");
  return {
    badge,
    group: h("details.ss-group", {}, h("summary", {}, h("span", {}, field.label), badge, icon("more")), ...content),
  };
}

function valueGroup(parts, field) {
  const label = parts.t("find_in", { field: field.label });
  const find = h("input.ss-find", { type: "text", placeholder: label, "aria-label": label });
  const list = h("div.ss-values", { role: "group", "aria-label": field.label });
  const { group, badge } = groupOf(field, find, list);
  const boxes = new Map();
  const narrow = () => {
    const wanted = find.value.trim().toLowerCase();
    for (const { row } of boxes.values())
      set(row, "hidden", !row.children[1].textContent.toLowerCase().includes(wanted));
  };
  find.addEventListener("input", narrow);
  find.addEventListener("keydown", ({ key }) => key === "Enter" && list.querySelector("label:not([hidden])")?.click());

  function update(counts, chosen = []) {
    const shown = new Map(counts.filter(({ count }) => count).map(({ value, count }) => [`${value}`, count]));
    // Removing or moving a row would lose the focus: both wait.
    const focused = list.querySelector(":focus")?.value;
    for (const value of [focused, ...chosen]) if (value && !shown.has(value)) shown.set(value, 0);
    for (const [value, { row }] of boxes) if (!shown.has(value)) (row.remove(), boxes.delete(value));
    const ordered = [...shown].sort(([a], [b]) => chosen.includes(b) - chosen.includes(a));
    ordered.forEach(([value, count], index) => {
      if (!boxes.has(value)) boxes.set(value, facetBox(parts, field, value));
      const { row, update: refresh } = boxes.get(value);
      refresh(count, chosen.includes(value));
      const place = list.children[index] ?? null;
      if (focused ? !row.isConnected : row !== place) list.insertBefore(row, place);
    });
    set(find, "hidden", shown.size < LONG && !find.value);
    set(group, "hidden", !shown.size);
    narrow();
  }
  return { group, badge, update };
}

function rangeGroup(parts, field) {
  const { group, badge } = groupOf(field);
  const loaded = import("./ranges.js").then(({ fill }) => fill(group, parts, field));
  return { group, badge, update: (...given) => loaded.then((update) => update(...given)).catch(() => {}) };
}

/** Recent searches, in this browser only. */
export class Recents {
  constructor(root, enabled) {
    this.key = `semsearch:${root.pathname}`;
    this.enabled = enabled;
  }

  /** Newest first; null when none are to be kept. */
  get queries() {
    try {
      const stored = JSON.parse(localStorage.getItem(this.key) ?? "[]");
      return this.enabled && Array.isArray(stored) ? stored : null;
    } catch {
      return null;
    }
  }

  set queries(queries) {
    try {
      localStorage.setItem(this.key, JSON.stringify(queries));
    } catch {
      // Storage is full or forbidden.
    }
  }

  add(query) {
    const text = query.trim();
    if (this.queries && text) this.queries = [text, ...this.queries.filter((item) => item !== text)].slice(0, 6);
  }
}

/** Before a question. */
export function createStart(parts) {
  const { store, t, recents, ask, config } = parts;
  const view = h("div.ss-start");
  const section = (label, content, offers) =>
    h("section", { "aria-label": label }, h("div.ss-caption", {}, label, offers), content);
  const queryButton = (query, name) =>
    button("ss-query", {}, () => ask(query), icon(name), h("span", { dir: "auto" }, query));

  function recentSection() {
    const { queries, enabled } = recents;
    const keep = (some) => () => {
      recents.queries = some;
      render(store.state);
      parts.input.focus();
    };
    const offer = (key, some) => button("ss-quiet", {}, keep(some), t(key));
    if (!enabled || queries?.length === 0) return h("p.ss-note", {}, t("start"));
    if (!queries) return h("div.ss-caption", {}, offer("keep_recent", []));
    const rows = queries.map((query) => {
      const forget = keep(queries.filter((item) => item !== query));
      const name = { "aria-label": t("remove_recent", { query }) };
      return h("li.ss-recent", {}, queryButton(query, "recent"), button("ss-round", name, forget, icon("close")));
    });
    const offers = h("span", {}, offer("clear_recent", []), offer("stop_recent", null));
    return section(t("recent"), h("ul", {}, rows), offers);
  }

  function suggestions() {
    const queries = config.suggestions?.filter((query) => !recents.queries?.includes(query));
    if (!queries?.length) return "";
    const rows = queries.map((query) => h("li.ss-recent", {}, queryButton(query, "search")));
    return section(t("suggestions"), h("ul", {}, rows));
  }

  function chipSection(field, chosen = []) {
    const chips = field.values.slice(0, 8).map(({ value, count }) => {
      const { row, update } = facetBox(parts, field, value);
      update(count, chosen.includes(`${value}`));
      row.classList.add("ss-chip");
      return row;
    });
    return set(section(field.label, h("div.ss-chips", {}, chips)), "role", "group");
  }

  function render({ answer, fields, filters }) {
    // It stays until there is something to show in its place.
    set(view, "hidden", !!answer);
    if (answer) return;
    const { value, dataset } = document.activeElement;
    const listed = fields.filter(({ type, values }) => !RANGES.includes(type) && values?.length);
    view.replaceChildren(recentSection(), suggestions(), ...listed.map((field) => chipSection(field, filters[field.name])));
    if (dataset.semsearch === "facet")
      [...view.querySelectorAll("input")]
        .find((box) => box.value === value && box.dataset.field === dataset.field)
        ?.focus();
  }

  store.on(["open", "fields", "filters", "answer"], render);
  return view;
}
