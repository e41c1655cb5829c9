/* The view before a question: recent searches, suggestions and keys. Loaded beside the dialog. */

import { attempt } from "./state.js";
import { button, h, icon, loadStyle, replace } from "./ui.js";

const ENGLISH = {
  hint_move: "move",
  hint_open: "open",
  hint_copy: "copy link",
  hint_close: "close",
  start: "Ask a question or type a word.",
  start_offline: "Search is unavailable right now. Your question is sent once the search service is back.",
  suggestions: "Try",
  remove_recent: "Remove “{query}” from the recent searches",
  stop_recent: "Don’t keep",
  keep_recent: "Keep recent searches",
};

/** Recent searches, kept in this browser only. */
class Recents {
  constructor({ root, config }) {
    this.key = `semsearch:${root.pathname}`;
    this.enabled = config.recents !== false && !!attempt(() => localStorage);
  }

  /** Newest first; null if the reader wants none to be stored. */
  get queries() {
    const stored = attempt(() => JSON.parse(localStorage.getItem(this.key) ?? "[]"));
    return this.enabled && Array.isArray(stored) ? stored : null;
  }

  set queries(queries) {
    attempt(() => localStorage.setItem(this.key, JSON.stringify(queries)));
  }

  add(query) {
    const text = query.trim();
    if (this.queries && text) this.queries = [text, ...this.queries.filter((item) => item !== text)].slice(0, 6);
  }
}

const captioned = (label, content, offers) =>
  h("section", { "aria-label": label }, h("div.ss-caption", {}, label, offers), content);

export async function fill(view, parts) {
  const { store, t, config, chips } = parts;
  t.add(ENGLISH);
  if (config.languages) parts.later("./translations.js", parts.list, "translations");
  await loadStyle(parts, new URL("panels.css", import.meta.url));
  parts.recents = new Recents(parts);

  function render(state) {
    // The view stays until an answer replaces it.
    view.hidden = !!state.answer;
    if (view.hidden) return;
    replace(view, recentSection(parts, state.mode, again), suggestions(parts), chips);
    if (state.fields.length) parts.later("./values.js", chips);
  }
  const again = () => render(store.state);

  store.on(["answer"], ({ answer }) => {
    if (answer && (answer.insights || config.insights_url)) parts.later("./insights.js", parts.foot);
  });
  fillFoot(parts);
  store.on(["open", "answer", "mode"], render);
}

const queryButton = ({ ask }, query, name) =>
  button("ss-query", {}, () => ask(query), icon(name), h("span", { dir: "auto" }, query));

/** The recent searches, each with a button that forgets it. `again` draws the view after a change. */
function recentSection(parts, mode, again) {
  const { t, recents, input } = parts;
  const { queries, enabled } = recents;
  // Another tab may have changed them since.
  const keep = (change) => () => {
    recents.queries = change(recents.queries);
    again();
    input.focus();
  };
  const offer = (key, change) => button("ss-quiet", {}, keep(change), t(key));
  if (mode === "offline") return h("p.ss-note", {}, t("start_offline"));
  if (!enabled || queries?.length === 0) return h("p.ss-note", {}, t("start"));
  if (!queries) return h("div.ss-caption", {}, offer("keep_recent", (now) => now ?? []));
  const rows = queries.map((query) => {
    const forget = keep((now) => now && now.filter((item) => item !== query));
    const name = { "aria-label": t("remove_recent", { query }) };
    return h("li.ss-recent", {}, queryButton(parts, query, "recent"), button("ss-round", name, forget, icon("close")));
  });
  const offers = h("span", {}, offer("clear_recent", (now) => now && []), offer("stop_recent", () => null));
  return captioned(t("recent"), h("ul", {}, rows), offers);
}

function suggestions(parts) {
  const { t, config, recents } = parts;
  const queries = config.suggestions?.filter((query) => !recents.queries?.includes(query));
  if (!queries?.length) return "";
  const rows = queries.map((query) => h("li.ss-recent", {}, queryButton(parts, query, "search")));
  return captioned(t("suggestions"), h("ul", {}, rows));
}

/** Lists the keys. */
function fillFoot({ t, mac, foot, config }) {
  const mod = mac ? "⌘" : "Ctrl ";
  const hint = (keys, action) => h("span", {}, h("kbd", {}, keys), action && ` ${t(`hint_${action}`)}`);
  foot.append(
    hint("↑ ↓", "move"),
    hint("↵", "open"),
    hint(`${mod}C`, "copy"),
    hint("Esc", "close"),
  );
  const { shortcut } = config;
  if (Array.isArray(shortcut) ? shortcut.includes("mod+k") : shortcut !== false) foot.append(hint(`${mod}K`));
}
