/* What the dialog shows around the list: the start view, nothing found, active filters. */

import { h, icon, set } from "./dom.js";
import { facetBox, filterChips } from "./facets.js";
import { toggled } from "./state.js";

const CHIPS = 8;

/** Before a question: recent searches and facet chips. */
export function createStart(store, { t, recents, ask, setFilters }) {
  const view = h("div", { class: "ss-start" });

  function recentSection() {
    if (!recents.enabled) return null;
    const quiet = (key, act) => h("button", { type: "button", class: "ss-quiet", on: { click: () => { act(); render(store.state); } } }, t(key));
    if (!recents.on) return h("div", { class: "ss-tools" }, quiet("keep_recent", () => recents.switch(true)));
    if (!recents.queries.length) return h("p", { class: "ss-note" }, t("start"));
    const rows = recents.queries.map((query) =>
      h(
        "li",
        { class: "ss-recent" },
        h("button", { type: "button", class: "ss-recent-query", on: { click: () => ask(query) } }, icon("recent"), h("span", { dir: "auto" }, query)),
        h("button", { type: "button", class: "ss-round", "aria-label": t("remove_recent", { query }), on: { click: () => { recents.remove(query); render(store.state); view.querySelector("button")?.focus(); } } }, icon("close")),
      ),
    );
    const tools = h("span", { class: "ss-tools" }, quiet("clear_recent", () => recents.clear()), quiet("stop_recent", () => recents.switch(false)));
    return h("section", { "aria-label": t("recent") }, h("div", { class: "ss-caption" }, h("span", {}, t("recent")), tools), h("ul", {}, rows));
  }

  function chipSection({ fields, filters }) {
    const listed = fields.filter(({ type, values }) => ["string", "list", "boolean"].includes(type) && values?.length);
    return listed.map((field) => {
      const chosen = filters[field.name] ?? [];
      const change = (name, value, on) => setFilters(toggled(store.state.filters, name, value, on));
      const chips = field.values.slice(0, CHIPS).map((item) => {
        const { row, update } = facetBox({ t, field, change });
        update(item, chosen.includes(String(item.value)));
        row.classList.add("ss-chip");
        return row;
      });
      return h("section", { role: "group", "aria-label": field.label }, h("div", { class: "ss-caption" }, h("span", {}, field.label)), h("div", { class: "ss-chips" }, chips));
    });
  }

  function render(state) {
    const focused = document.activeElement?.closest?.(".ss-start") === view ? document.activeElement : null;
    view.replaceChildren(...[recentSection(), ...chipSection(state)].filter(Boolean));
    if (focused?.type === "checkbox")
      [...view.querySelectorAll("input")].find((box) => box.value === focused.value && box.dataset.field === focused.dataset.field)?.focus();
  }

  store.subscribe((state, previous) => {
    const shown = !state.query.trim();
    set(view, "hidden", !shown);
    const fresh = state.open !== previous.open || state.fields !== previous.fields || state.filters !== previous.filters || state.query !== previous.query;
    if (shown && fresh) render(state);
  });
  return view;
}

/** The question found nothing: what to drop. The nearest weaker hits follow in the list. */
export function createEmpty(store, { t, ask, setFilters }) {
  const view = h("div", { class: "ss-empty", "data-semsearch": "empty", hidden: true });
  const offer = (text, act) => h("button", { type: "button", class: "ss-button", on: { click: act } }, text);

  store.subscribe((state, previous) => {
    const { answer, nearest } = state;
    const empty = Boolean(answer && !answer.results.length && state.query.trim());
    set(view, "hidden", !empty);
    if (!empty || (answer === previous.answer && nearest === previous.nearest)) return;
    const chips = answer.source === "sidecar" ? filterChips(t, state) : [];
    const offers = chips.length > 1 ? chips.map(({ text, without }) => offer(t("drop_filter", { filter: text }), () => setFilters(without))) : [];
    if (chips.length) offers.push(offer(t("drop_filters"), () => setFilters({})));
    if (answer.query.includes('"')) offers.push(offer(t("drop_quotes"), () => ask(answer.query.replaceAll('"', ""))));
    view.replaceChildren(
      h("p", { class: "ss-none", dir: "auto" }, t("none", { query: answer.query.trim() })),
      h("p", { class: "ss-note" }, t("none_hint")),
      h("div", { class: "ss-offers" }, offers),
      nearest.length ? h("div", { class: "ss-caption" }, t("nearest")) : "",
    );
  });
  return view;
}

/** The filters in force, each with its own dismiss, and "clear all". */
export function createActive(store, { t, setFilters }) {
  const bar = h("div", { class: "ss-active", role: "group", "aria-label": t("filters"), hidden: true });
  store.subscribe((state, previous) => {
    if (state !== previous && state.filters === previous.filters && state.fields === previous.fields) return;
    const chips = filterChips(t, state);
    const drop = (filters) => () => {
      setFilters(filters);
      (bar.querySelector("button") ?? bar.closest("dialog").querySelector("[data-semsearch=input]")).focus();
    };
    bar.replaceChildren(
      ...chips.map(({ text, without }) =>
        h("button", { type: "button", class: "ss-filter", "aria-label": t("remove_filter", { filter: text }), on: { click: drop(without) } }, h("span", { dir: "auto" }, text), icon("close")),
      ),
      chips.length ? h("button", { type: "button", class: "ss-quiet", on: { click: drop({}) } }, t("clear_filters")) : "",
    );
    set(bar, "hidden", !chips.length);
  });
  return bar;
}
