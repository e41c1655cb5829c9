/* <semsearch-dialog>: puts the parts together; keys, focus, scroll lock, live regions, public events. */

import { Client } from "./api.js";
import { h, icon, set } from "./dom.js";
import { createFacets } from "./facets.js";
import { Fallback } from "./fallback.js";
import { Address, fromFragment, isSamePage, linkMaker } from "./links.js";
import { Recents } from "./recents.js";
import { createResults, optionsOf } from "./results.js";
import { Search } from "./search.js";
import { createActive, createEmpty, createStart } from "./start.js";
import { activeFilters, Store } from "./state.js";
import { loadStrings } from "./strings.js";

const PHONE = "(max-width: 768px)";
const SETTLE = 350;

class SemsearchDialog extends HTMLElement {
  /** Builds the dialog once its settings, strings and styles are there. */
  build({ config, root, mac, t }) {
    const fields = (config.facets ?? []).map((field) => ({ label: field.name, ...field, values: [] }));
    this.t = t;
    this.mac = mac;
    this.store = new Store({ fields });
    this.address = new Address();
    this.recents = new Recents(root, config.recents !== false);
    const client = new Client(new URL(config.api_url ?? "/-/semsearch", root), fields.map(({ name }) => name));
    const fallback = config.fallback === false ? null : new Fallback(root);
    this.search = new Search(this.store, client, fallback, {
      results: (answer, mode) => this.#emit("results", { query: answer.query, total: answer.total, mode }),
      error: (error) => this.#emit("error", { message: error.message, status: error.status ?? 0 }),
    });
    this.#draw(linkMaker(root));
    this.#follow();
    addEventListener("popstate", () => this.#onHistory());
  }

  get isOpen() {
    return this.dialog?.open ?? false;
  }

  /** Opens the dialog; a search in the address bar is taken up. `trigger` gets the focus back on closing. */
  open({ query = "", trigger = null } = {}) {
    if (this.isOpen) return;
    const shared = fromFragment();
    const active = document.activeElement;
    this.returnTo = trigger ?? (active === document.body ? null : active);
    this.address.enter(matchMedia(PHONE).matches);
    this.#lock(true);
    this.dialog.showModal();
    const patch = { open: true, active: -1, mode: "online", ...(shared ?? {}) };
    if (query) patch.query = query;
    this.store.set(patch);
    this.input.value = this.store.state.query;
    this.input.focus();
    if (query) this.input.setSelectionRange(query.length, query.length);
    else this.input.select();
    this.search.loadFields();
    this.search.ask(0);
    this.#emit("open");
  }

  /** Closes the dialog and puts the address bar back. */
  close() {
    if (!this.isOpen) return;
    this.dialog.close();
    this.address.leave();
  }

  #emit(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(`semsearch:${name}`, { bubbles: true, detail }));
  }

  #draw(href) {
    const { store, search, recents, t } = this;
    const parts = { t, search, recents, href, ask: (query) => this.#ask(query), setFilters: (filters) => this.#filter(filters) };
    this.list = createResults(store, parts);
    const facets = createFacets(store, parts);
    this.input = h("input", {
      class: "ss-input",
      type: "text",
      role: "combobox",
      "data-semsearch": "input",
      "aria-label": t("search"),
      "aria-expanded": "false",
      "aria-controls": this.list.id,
      "aria-autocomplete": "list",
      placeholder: t("placeholder"),
      autocomplete: "off",
      autocapitalize: "off",
      autocorrect: "off",
      spellcheck: "false",
      enterkeyhint: "search",
      maxlength: 1000,
      dir: "auto",
    });
    this.clearButton = h("button", { type: "button", class: "ss-quiet ss-clear", "aria-label": t("clear"), hidden: true, on: { click: () => this.#ask("") } }, icon("close"));
    this.filterButton = h(
      "button",
      { type: "button", class: "ss-quiet ss-toggle", "aria-expanded": "false", "aria-controls": facets.id, hidden: true },
      icon("filter"), h("span", {}, t("filters")), h("span", { class: "ss-badge" }),
    );
    this.filterButton.addEventListener("click", () => {
      const shown = this.main.classList.toggle("ss-with-filters");
      set(this.filterButton, "aria-expanded", String(shown));
    });
    const closeButton = h("button", { type: "button", class: "ss-close", "data-semsearch": "close", "aria-label": t("close"), on: { click: () => this.close() } }, icon("close"));
    this.count = h("span", { class: "ss-total", "aria-hidden": "true" });
    this.mode = h("p", { class: "ss-mode", "data-semsearch": "mode", hidden: true });
    this.status = h("p", { class: "ss-sr", role: "status", "data-semsearch": "status" });
    this.alert = h("p", { class: "ss-sr", role: "alert", "data-semsearch": "alert" });
    this.moreButton = h("button", { type: "button", class: "ss-button ss-next", hidden: true, on: { click: () => search.more() } }, t("more_results"));
    this.bar = h("div", { class: "ss-summary" }, this.count, this.filterButton);
    this.scroller = h("div", { class: "ss-scroll" }, createStart(store, parts), createEmpty(store, parts), this.list, this.moreButton);
    this.main = h("div", { class: "ss-main" }, facets, this.scroller);
    this.dialog = h(
      "dialog",
      { class: "ss-dialog", "aria-label": t("search"), lang: t.language, dir: t.rtl ? "rtl" : null },
      h("div", { class: "ss-box" },
        h("div", { class: "ss-bar", role: "search" }, icon("search"), this.input, this.clearButton, closeButton),
        createActive(store, parts),
        this.mode,
        this.bar,
        this.main,
        this.#footer(),
        this.status,
        this.alert,
      ),
    );
    this.classList.add("semsearch");
    this.replaceChildren(this.dialog);
    this.#listen();
  }

  #footer() {
    const hint = (keys, text) => h("span", {}, keys.map((key) => h("kbd", {}, key)), " ", text);
    const { t } = this;
    return h("div", { class: "ss-foot", "aria-hidden": "true" },
      hint(["↑", "↓"], t("hint_move")), hint(["↵"], t("hint_open")), hint(["Esc"], t("hint_close")),
      h("span", { class: "ss-keys" }, h("kbd", {}, this.mac ? "⌘K" : "Ctrl K")));
  }

  #listen() {
    this.input.addEventListener("input", (event) => {
      this.store.set({ query: this.input.value, active: -1 });
      // While an input method composes, the text is not yet what the reader means.
      if (!event.isComposing) this.search.ask();
    });
    this.input.addEventListener("compositionend", () => {
      this.store.set({ query: this.input.value });
      this.search.ask();
    });
    this.dialog.addEventListener("keydown", (event) => this.#onKey(event));
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
    this.dialog.addEventListener("close", () => this.#closed());
    this.dialog.addEventListener("mousedown", (event) => event.target === this.dialog && this.close());
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("a[role=option]");
      if (!option) return;
      this.recents.add(this.store.state.query);
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      if (isSamePage(option.href)) this.address.update({ query: "", filters: {} });
      this.dialog.close();
    });
    // Focus stays in the field while the reader clicks on results.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  #onKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Tab") this.#keepFocus(event);
    else if (event.key === "Escape") {
      event.preventDefault();
      this.close();
    } else if (event.target === this.input) this.#onInputKey(event);
    else if (event.target.closest(".ss-start")) this.#walkStart(event);
  }

  #onInputKey(event) {
    const options = optionsOf(this.list);
    const { active, query } = this.store.state;
    if (event.key === "Enter") {
      event.preventDefault();
      const option = options[active] ?? options[0];
      if (option && query.trim()) this.#activate(option, event);
      return;
    }
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key === "ArrowDown" && !options.length) return this.#walkStart(event);
    const next = nextActive(event.key, active, options.length, this.input);
    if (next === null) return;
    event.preventDefault();
    this.store.set({ active: next });
  }

  #activate(option, { ctrlKey, metaKey }) {
    if (!option.href) option.click();
    else if (this.mac ? metaKey : ctrlKey) {
      this.recents.add(this.store.state.query);
      window.open(option.href, "_blank", "noopener");
    } else option.click();
  }

  /** Up and Down also walk the start view's buttons. */
  #walkStart(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const stops = [this.input, ...this.dialog.querySelectorAll(".ss-start:not([hidden]) :is(.ss-recent-query, input)")];
    const next = stops[stops.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  #keepFocus(event) {
    const stops = [...this.dialog.querySelectorAll("input, button, summary")].filter((item) => item.checkVisibility() && item.tabIndex >= 0);
    const [first, last] = [stops[0], stops.at(-1)];
    const edge = event.shiftKey ? first : last;
    if (document.activeElement !== edge) return;
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  }

  #ask(query) {
    this.input.value = query;
    this.store.set({ query, active: -1 });
    this.input.focus();
    this.search.ask(0);
  }

  #filter(filters) {
    this.store.set({ filters, active: -1 });
    this.address.update(this.store.state);
    this.search.ask(0);
  }

  /** Back and Forward: the address bar says whether the dialog is open. */
  #onHistory() {
    const shared = fromFragment();
    if (!shared && this.isOpen) this.dialog.close();
    else if (shared && !this.isOpen) this.open();
  }

  #closed() {
    this.search.rest();
    this.#lock(false);
    this.store.set({ open: false });
    if (this.returnTo?.isConnected) this.returnTo.focus({ preventScroll: true });
    this.#emit("close");
  }

  #lock(on) {
    const page = document.documentElement;
    if (on) page.classList.toggle("semsearch-gutter", innerWidth > page.clientWidth);
    page.classList.toggle("semsearch-open", on);
    if (!on) page.classList.remove("semsearch-gutter");
  }

  #follow() {
    let settling = 0;
    this.store.subscribe((state, previous) => {
      if (state === previous) return;
      this.#reflect(state);
      if (state.answer !== previous.answer) {
        if (state.answer?.query !== previous.answer?.query) this.scroller.scrollTop = 0;
        if (state.answer) this.address.update(state);
      }
      if (!state.query.trim() && previous.query.trim()) this.address.update(state);
      clearTimeout(settling);
      if (state.open && !state.busy) settling = setTimeout(() => this.#announce(state), SETTLE);
    });
  }

  #reflect({ query, answer, active, mode, busy, filters, fields }) {
    const asked = query.trim() !== "";
    const options = optionsOf(this.list);
    set(this.input, "aria-expanded", String(asked && options.length > 0));
    set(this.input, "aria-activedescendant", options[active]?.id ?? null);
    set(this.clearButton, "hidden", !query);
    set(this.dialog, "data-busy", busy);
    set(this.dialog, "data-view", asked && answer ? "results" : "start");
    this.count.textContent = asked && answer ? this.t("count", { count: answer.total }) : "";
    const filterable = asked && fields.length > 0 && answer?.source === "sidecar";
    set(this.dialog, "data-filterable", filterable);
    set(this.filterButton, "hidden", !filterable);
    this.filterButton.lastChild.textContent = activeFilters(filters).length || "";
    set(this.bar, "hidden", !(asked && answer?.results.length) && !filterable);
    set(this.moreButton, "hidden", !(asked && answer && answer.results.length && answer.results.length < answer.total));
    set(this.mode, "hidden", mode === "online");
    this.mode.dataset.mode = mode;
    const line = mode === "online" ? "" : this.t(`mode_${mode}`);
    if (this.mode.textContent !== line) this.mode.textContent = line;
  }

  /** Says what is on screen, once, when typing has settled. */
  #announce({ query, answer, mode }) {
    const said = !query.trim() || !answer
      ? ""
      : answer.total ? this.t("count", { count: answer.total }) : this.t("none", { query: answer.query.trim() });
    if (this.status.textContent !== said) this.status.textContent = said;
    const error = mode === "online" ? "" : this.t(`mode_${mode}`);
    if (this.alert.textContent !== error) this.alert.textContent = error;
  }
}

/** The option after `key`, -1 for the input itself, null when the key is not ours. */
function nextActive(key, active, count, input) {
  if (!count) return null;
  if (key === "ArrowDown") return (active + 1) % count;
  if (key === "ArrowUp") return active < 0 ? count - 1 : active - 1;
  // Home and End belong to the text until the reader is in the list, or End has nothing left to do there.
  if (key === "Home" && active >= 0) return 0;
  if (key === "End" && (active >= 0 || input.selectionEnd === input.value.length)) return count - 1;
  return null;
}

const loadStyles = (base) =>
  new Promise((resolve, reject) => {
    const link = h("link", { rel: "stylesheet", href: new URL("dialog.css", base).href, on: { load: resolve, error: reject } });
    document.head.append(link);
  });

/** Called by the loader on first use. */
export async function start(host, { config, root, base, mac }) {
  const language = config.language ?? document.documentElement.lang;
  const [t] = await Promise.all([loadStrings(base, language, config.strings), loadStyles(base)]);
  if (!customElements.get("semsearch-dialog")) customElements.define("semsearch-dialog", SemsearchDialog);
  host.build({ config, root, mac, t });
}
