/* Keeps the field, the lines around the list and the announcements in step with the state, and loads parts on demand. */

import { load } from "./load.js";
import { optionsOf } from "./results.js";
import { countFilters, questionKey } from "./state.js";
import { set } from "./ui.js";

const SETTLE = 350; // milliseconds before a number is announced
const WITH_ANSWER = /^(loading|slow|degraded)/; // modes that are announced with the answer that they belong to

export function follow(box) {
  loadParts(box);
  followList(box);
  followFilters(box);
  followMode(box);
  announce(box);
}

const countText = ({ t }, { total: count, improved }) => t("count", { count }) + (improved ? ` · ${t("updated")}` : "");

/** Loads the parts of the dialog that an answer needs. */
function loadParts(box) {
  const { store, list } = box;
  store.on(["answer", "nearest"], ({ answer }) => {
    const none = answer && !answer.total;
    box.empty.hidden = !none;
    if (none) box.later("./empty.js", box.empty);
    if (answer?.noted) box.later("./notice.js", box.notice);
    if (answer && box.returned?.href) box.later("./returned.js", list, "returning");
    // Once every part has seen the answer: the record of searches would name the question before.
    if (box.keys.eager) queueMicrotask(() => box.keys.eager && box.keys.choose(box.keys.eager.newTab));
  });
  store.onPainted(["answer", "nearest"], (state) => {
    if (!box.isOpen) return;
    box.address.update(state);
    if (!list.childElementCount) return;
    load(import.meta.resolve("./empty.js")).catch(() => {}); // without it, the first question without results would show nothing at first
    box.later("./why.js", list);
    if (state.fields.some(({ values }) => values)) box.later("./suggest.js", box.offer);
    if (box.preview.checkVisibility()) box.later("./preview.js", box.preview);
  });
}

function followList(box) {
  const { store, list, input, clearing, next, ends } = box;
  store.on(["query", "answer", "nearest", "active"], ({ query, answer, active }) => {
    const options = optionsOf(list);
    set(input, "aria-expanded", `${options.length > 0}`);
    set(input, "aria-activedescendant", options[active]?.id);
    clearing.hidden = !query;
    next.hidden = answer?.results.length >= answer?.total;
    ends.hidden = !answer?.results.length;
    box.total.textContent = answer ? countText(box, answer) : "";
    set(box.dialog, "data-results", !!answer);
  });
}

function followFilters(box) {
  let beside = false; // whether the facets stand beside the list
  box.store.on(["answer", "filters"], ({ answer, filters, fields }) => {
    const chosen = countFilters(filters);
    if (answer) beside = answer.facets && (beside || chosen || fields.some(({ name }) => answer.facets[name]?.length));
    // The column keeps its place, so that nothing moves.
    set(box.dialog, "data-facets", answer ? !!beside : fields.length > 0);
    if (chosen) box.later("./chips.js", box.chosen);
    if (answer) box.link.href = new URL(`search/?${questionKey({ ...answer, filters }, "query")}`, box.root);
    box.badge.textContent = chosen || "";
  });
}

/** Says which engine answers. Screen readers are only interrupted if the search fails. */
function followMode(box) {
  const { store, t, modeLine: line, status, alert } = box;
  store.on(["mode"], ({ mode }) => {
    line.hidden = mode === "online";
    line.dataset.mode = mode;
    line.textContent = mode === "online" ? "" : t(`mode_${mode}`);
    alert.textContent = mode === "static" || mode === "better" || WITH_ANSWER.test(mode) ? "" : line.textContent;
    if (mode === "better") status.textContent = line.textContent;
    if (mode === "static" || mode === "better") box.later("./mode.js", line);
  });
}

/** Tells screen readers the number of results once typing has stopped. */
function announce(box) {
  let settling = 0;
  let said = ""; // the last mode that was announced
  box.store.on(["query", "answer", "nearest", "busy"], ({ query, answer, nearest, busy }) => {
    clearTimeout(settling);
    if (busy || (answer && answer.query !== query)) return;
    settling = setTimeout(() => {
      box.status.textContent = answer ? sentences(answer, nearest).join(". ") : "";
    }, SETTLE);
  });

  function sentences(answer, nearest) {
    const { t, notice, modeLine: line } = box;
    const { mode } = line.dataset;
    const asked = answer.query.trim();
    const notes = answer.noted ? Array.from(notice.querySelectorAll("p"), (note) => note.textContent) : [];
    if (mode !== said && WITH_ANSWER.test(mode)) notes.push(line.textContent);
    said = mode;
    if (answer.results.some(({ weak }) => weak)) return [t("weaker", { count: answer.weaker }), ...notes];
    if (answer.total) return [countText(box, answer), ...notes];
    const none = asked ? t("none", { query: asked }) : t("none_browse");
    return [none, ...(nearest.length ? [t("nearest")] : []), ...notes];
  }
}
