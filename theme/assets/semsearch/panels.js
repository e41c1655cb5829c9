/* What stands around the list: facets, active filters, recent searches, nothing found. */

import { activeFilters, toggled } from "./state.js";
import { button, h, icon, set } from "./ui.js";

const RANGES = { integer: "number", number: "number", date: "date" };
const LONG = 10; // such lists have a field to find a value

const valueText = (t, { type } = {}, value) =>
  type === "boolean" ? t(`${value}` === "true" ? "yes" : "no") : `${value}`;

/** Active filters as text, each with what remains without it. */
function chipsOf(t, { filters, fields }) {
  return activeFilters(filters).flatMap(([name, filter]) => {
    const field = fields.find((item) => item.name === name);
    const label = field?.label ?? name;
    if (!Array.isArray(filter))
      return { text: `${label}: ${filter.min || "…"}–${filter.max || "…"}`, without: { ...filters, [name]: null } };
    return filter.map((value) => ({
      text: `${label}: ${valueText(t, field, value)}`,
      without: toggled(filters, name, value),
    }));
  });
}

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
  const panel = h("div.ss-facets", { role: "group", "aria-label": t("filters"), id: "semsearch-facets" });
  const groups = {};
  store.on(["answer", "filters"], ({ answer, filters, fields }) => {
    if (!answer || answer.source) return;
    for (const field of fields) {
      groups[field.name] ??= (RANGES[field.type] ? rangeGroup : valueGroup)(parts, field);
      const { group, badge, update } = groups[field.name];
      if (!group.parentNode) {
        group.open = panel.childElementCount < 3;
        panel.append(group);
      }
      const filter = filters[field.name];
      const chosen = activeFilters({ filter }).length && (filter.length ?? 1);
      update(answer.facets[field.name] ?? [], filter);
      badge.textContent = chosen ? t.number(chosen) : "";
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

  function update(counts, chosen = []) {
    const shown = new Map(counts.filter(({ count }) => count).map(({ value, count }) => [`${value}`, count]));
    // Removing or moving a row would lose the focus: both wait.
    const focused = list.querySelector(":focus")?.value;
    for (const value of [focused, ...chosen]) if (value && !shown.has(value)) shown.set(value, 0);
    for (const [value, { row }] of boxes) if (!shown.has(value)) (row.remove(), boxes.delete(value));
    const ordered = [...shown].sort(([a], [b]) => chosen.includes(b) - chosen.includes(a));
    for (const [value, count] of ordered) {
      if (!boxes.has(value)) boxes.set(value, facetBox(parts, field, value));
      const { row, update: refresh } = boxes.get(value);
      refresh(count, chosen.includes(value));
      if (!focused || !row.isConnected) list.append(row);
    }
    set(find, "hidden", shown.size < LONG && !find.value);
    set(group, "hidden", !shown.size);
    narrow();
  }
  return { group, badge, update };
}

function rangeGroup({ t, store, setFilters }, field) {
  const type = RANGES[field.type];
  const inputs = ["min", "max"].map((end) => {
    const input = h("input.ss-range", {
      type,
      "data-semsearch": "range",
      "data-field": field.name,
      step: field.type === "number" && "any",
    });
    input.addEventListener("change", () => {
      const { filters } = store.state;
      setFilters({ ...filters, [field.name]: { ...filters[field.name], [end]: input.value } });
    });
    return input;
  });
  const ends = inputs.map((input, index) => h("label.ss-end", {}, h("span", {}, t(index ? "to" : "from")), input));
  const { group, badge } = groupOf(field, h("div.ss-ends", { role: "group", "aria-label": field.label }, ends));

  function update(counts, filter = {}) {
    const values = counts.map(({ value }) => value).sort((a, b) => a - b);
    [values[0], values.at(-1)].forEach((bound, index) => {
      const input = inputs[index];
      if (type === "number") set(input, "placeholder", `${bound ?? ""}`);
      if (input !== document.activeElement) input.value = filter?.[index ? "max" : "min"] ?? "";
    });
    set(group, "hidden", !values.length && !activeFilters({ filter }).length);
  }
  return { group, badge, update };
}

/** The filters in force. */
export function createActive({ store, t, setFilters, input }) {
  const bar = h("div.ss-active", { role: "group", "aria-label": t("filters") });
  const drop = (filters) => () => {
    setFilters(filters);
    (bar.hidden ? input : bar.querySelector("button")).focus();
  };
  store.on(["filters", "fields", "mode"], (state) => {
    const chips = chipsOf(t, state);
    bar.replaceChildren(
      ...chips.map(({ text, without }) =>
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
    // The theme's own index knows no filters.
    set(bar, "hidden", !chips.length || state.mode === "fallback");
  });
  return bar;
}

/** Nothing found: what to drop. The closest hits follow in the list. */
export function createEmpty({ store, t, ask, setFilters }) {
  const view = h("div.ss-empty", { "data-semsearch": "empty" });
  store.on(["answer", "nearest"], (state) => {
    const { answer, nearest } = state;
    set(view, "hidden", !answer || answer.results.length);
    if (!answer || answer.results.length) return;
    const words = answer.query.replaceAll('"', "");
    const chips = answer.source ? [] : chipsOf(t, state);
    const offers =
      chips.length > 1
        ? chips.map(({ text, without }) =>
            button("ss-button", {}, () => setFilters(without), t("drop_filter", { filter: text })),
          )
        : [];
    if (chips.length) offers.push(button("ss-button", {}, () => setFilters({}), t("drop_filters")));
    if (words !== answer.query) offers.push(button("ss-button", {}, () => ask(words), t("drop_quotes")));
    view.replaceChildren(
      h("p.ss-title", { dir: "auto" }, t("none", { query: words.trim() })),
      h("p.ss-note", {}, t("none_hint")),
      h("div.ss-offers", {}, offers),
      nearest.length ? h("div.ss-caption", {}, t("nearest")) : "",
    );
  });
  return view;
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
  const { store, t, recents, ask } = parts;
  const view = h("div.ss-start");

  function recentRow(query) {
    const forget = () => {
      recents.queries = recents.queries.filter((item) => item !== query);
      render(store.state);
      parts.input.focus();
    };
    return h(
      "li.ss-recent",
      {},
      button("ss-query", {}, () => ask(query), icon("recent"), h("span", { dir: "auto" }, query)),
      button("ss-round", { "aria-label": t("remove_recent", { query }) }, forget, icon("close")),
    );
  }

  function recentSection() {
    const { queries, enabled } = recents;
    const keep = (key, value) =>
      button(
        "ss-quiet",
        {},
        () => {
          recents.queries = value;
          render(store.state);
          parts.input.focus();
        },
        t(key),
      );
    if (!enabled || queries?.length === 0) return h("p.ss-note", {}, t("start"));
    if (!queries) return h("div.ss-caption", {}, keep("keep_recent", []));
    const caption = h(
      "div.ss-caption",
      {},
      t("recent"),
      h("span", {}, keep("clear_recent", []), keep("stop_recent", null)),
    );
    return h("section", { "aria-label": t("recent") }, caption, h("ul", {}, queries.map(recentRow)));
  }

  function chipSection(field, chosen = []) {
    const chips = field.values.slice(0, 8).map(({ value, count }) => {
      const { row, update } = facetBox(parts, field, value);
      update(count, chosen.includes(`${value}`));
      row.classList.add("ss-chip");
      return row;
    });
    return h(
      "section",
      { role: "group", "aria-label": field.label },
      h("div.ss-caption", {}, field.label),
      h("div.ss-chips", {}, chips),
    );
  }

  function render({ answer, fields, filters }) {
    // It stays until there is something to show in its place.
    set(view, "hidden", !!answer);
    if (answer) return;
    const { value, dataset } = document.activeElement;
    const listed = fields.filter(({ type, values }) => !RANGES[type] && values?.length);
    view.replaceChildren(recentSection(), ...listed.map((field) => chipSection(field, filters[field.name])));
    if (dataset.semsearch === "facet")
      [...view.querySelectorAll("input")]
        .find((box) => box.value === value && box.dataset.field === dataset.field)
        ?.focus();
  }

  store.on(["open", "fields", "filters", "answer"], render);
  return view;
}
