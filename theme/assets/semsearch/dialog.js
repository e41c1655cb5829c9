/* <semsearch-dialog>: connects the parts, opens and closes. */

import { draw } from "./draw.js";
import { follow } from "./follow.js";
import { Keys } from "./keys.js";
import { load } from "./load.js";
import { optionsOf } from "./results.js";
import { Search } from "./search.js";
import { Address, keepOpened, openedFrom, sameQuestion, sharedSearch, Store } from "./state.js";
import { h, loadStrings, loadStyle, translatedFacets } from "./ui.js";

const AGAIN = 1000; // milliseconds before a file that got lost is requested once more
const PHONE = "(max-width: 768px), (max-height: 500px)"; // as in dialog.css

export class SemsearchDialog extends HTMLElement {
  prefix = "semsearch";

  build({ config, root, mac, t, engine, reader }) {
    const store = new Store({ fields: translatedFacets(t, config.facets ?? []), reader });
    const names = store.state.fields.map(({ name }) => name);
    const search = new Search({ store, config, root, t, names, engine, report: this.report });
    Object.assign(this, { config, root, t, mac, store, search, address: this.createAddress() });
    // Before the list changes: scrolling afterwards would lay it out once more.
    store.on(["answer"], (state, { answer }) => {
      if (sameQuestion(state.answer, answer)) return;
      for (const part of [this.scroller, this.main, this.dialog]) part.scrollTop = 0;
    });
    // The focused element may disappear with a change.
    let held = false;
    const changing = ["answer", "nearest", "filters", "fields", "mode", "better"];
    store.on(changing, () => (held ||= this.contains(document.activeElement)));
    store.onPainted(changing, ({ open }) => {
      const { body, activeElement: at } = document;
      if (held && open && (at === body || !at.checkVisibility())) this.refocus();
      held = false;
    });
    draw(this);
    this.classList.add("semsearch");
    this.append(this.dialog);
    this.#listen();
    follow(this);
    this.#loadBeside();
  }

  /* The results page replaces the following methods. */

  createAddress() {
    return new Address();
  }

  frame(...parts) {
    // A press between the parts leaves the focus in the dialog, so that keys still reach it.
    return h("dialog.ss-dialog", { "aria-label": this.t("search"), tabindex: -1 }, parts);
  }

  hide() {
    this.dialog.close();
    if (!this.store.state.open) return;
    this.search.rest();
    this.sheet?.close();
    this.#lock(false);
    this.store.set({ open: false });
    this.returnTo?.focus({ preventScroll: true });
    this.report("close");
  }

  keepFocus(event) {
    const stops = [...this.dialog.querySelectorAll("input, button, summary, a")];
    const shown = stops.filter((item) => item.tabIndex >= 0 && item.checkVisibility() && !item.closest("[inert]"));
    const [from, to] = event.shiftKey ? [shown[0], shown.at(-1)] : [shown.at(-1), shown[0]];
    if (from.type === "date" && !event.shiftKey) return; // its day, month and year are stops, too
    if (![from, this.dialog].includes(document.activeElement)) return;
    event.preventDefault();
    to.focus();
  }

  followAddress() {
    const late = this.address.hasLeft() && this.isOpen; // opened again before the browser had gone back
    if (sharedSearch()) this.open();
    else if (late) {
      this.address.enter(true);
      this.address.update(this.store.state);
    } else this.hide();
  }

  get isOpen() {
    return this.dialog?.open;
  }

  /** Opens with `query`, the address or the last search. `trigger` gets the focus afterwards. */
  open({ query, trigger } = {}) {
    const shared = sharedSearch();
    if (!this.isOpen) {
      const active = document.activeElement;
      this.returnTo = trigger ?? (active === document.body ? null : active);
      this.address.enter(matchMedia(PHONE).matches);
      if (!this.isConnected) document.body.append(this); // Back, after a script has replaced the body
      this.#lock(true);
      this.dialog.showModal();
      this.report("open");
    }
    this.begin({ ...shared, ...(query && { query }) });
    this.input.focus();
    if (query) this.input.setSelectionRange(query.length, query.length);
    else this.input.select();
  }

  /** Moves the focus if its element has disappeared. On a phone this does not open the keyboard. */
  refocus() {
    const place = matchMedia("(hover: none)").matches ? this.dialog : this.input;
    place.focus({ preventScroll: true });
  }

  begin(search) {
    this.#loadBeside();
    this.keys.eager = null;
    this.returned = search?.filters && { ...search, ...openedFrom(search) }; // with filters: from an address
    const fresh = { open: true, literal: false, active: 0, walked: false, opened: null };
    this.store.set({ ...fresh, mode: this.search.first?.mode ?? "online", ...search });
    this.input.value = this.store.state.query;
    this.search.loadFields();
    this.search.ask(0);
  }

  /** Also closes a dialog that is about to open, or that the browser has closed. */
  close() {
    if (!this.isOpen && !this.store.state.open) return;
    this.hide();
    this.address.leave();
  }

  escape() {
    if (this.sheet?.isOpen) this.sheet.close();
    else this.close();
  }

  report = (name, detail) => this.dispatchEvent(new CustomEvent(`semsearch:${name}`, { bubbles: true, detail }));

  #listen() {
    const { dialog, input } = this;
    const typed = ({ isComposing }) => {
      this.returned = null;
      this.#change({ query: input.value, literal: false });
      if (!isComposing) this.search.ask();
    };
    this.keys = new Keys(this);
    input.addEventListener("input", typed);
    input.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text");
      if (text.length < 400 || !text.includes("\n")) return;
      event.preventDefault();
      // If the file gets lost, the text arrives as the browser would paste it.
      const whole = () => input === document.activeElement && document.execCommand("insertText", false, text);
      load(import.meta.resolve("./paste.js")).then(({ paste }) => paste(input, text)).catch(whole);
    });
    input.addEventListener("compositionend", typed);
    input.addEventListener("copy", (event) => this.#copyLink(event));
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.escape();
    });
    // Browsers can close a dialog too. When this event comes, ours may be open again.
    dialog.addEventListener("close", () => this.isOpen || this.close());
    dialog.addEventListener("mousedown", (event) => {
      if (event.target !== dialog) return;
      event.preventDefault(); // the trigger keeps the focus
      this.close();
    });
    this.main.addEventListener("pointerdown", (event) => (this.pressed = event));
    this.main.addEventListener("click", (event) => this.#onChoice(event));
    // A phone's keyboard covers part of the screen. Zooming in shrinks the viewport, too, but covers nothing.
    visualViewport?.addEventListener("resize", () =>
      dialog.style.setProperty("--semsearch-vh", `${visualViewport.height * visualViewport.scale}px`),
    );
    addEventListener("popstate", () => this.followAddress());
  }

  #onChoice(event) {
    const link = event.target.closest("a[href]");
    if (!link) return;
    // A click that ends a selection of text opens nothing.
    const { pressed } = this;
    this.pressed = null; // assistive technology clicks without a press
    if (event.detail && Math.hypot(event.x - pressed?.x, event.y - pressed?.y) > 9) return event.preventDefault();
    this.recents?.add(this.store.state.query);
    this.store.set({ opened: link.hit }); // before hiding, which ends the search
    if (event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
    if (link.href.split("#")[0] === location.href.split("#")[0]) this.address.restore();
    else this.address.update(this.store.state);
    keepOpened(this.store.state, link.href);
    this.returnTo = null;
    this.hide();
    // The reader may have left the content tab of the heading; for the same address browsers send no event.
    if (link.href === location.href) dispatchEvent(new Event("hashchange"));
  }

  /** Copies the link of the active row. */
  #copyLink(event) {
    const { href } = optionsOf(this.list)[this.store.state.active] ?? {};
    if (!href || this.input.selectionStart < this.input.selectionEnd) return;
    event.clipboardData.setData("text/plain", href);
    event.preventDefault();
    this.status.textContent = this.t("copied");
  }

  async openSheet() {
    await this.later("./sheet.js", this.facets, "sheet");
    if (this.isOpen) this.sheet?.open();
  }

  ask = (query, patch) => {
    this.input.value = query;
    this.#change({ query, literal: false, ...patch });
    this.input.focus();
    this.search.ask(0);
  };

  setFilters = (filters) => {
    this.#change({ filters });
    this.address.update(this.store.state);
    this.search.ask(0);
  };

  /** Changes the question. No row is active until its answer has come. */
  #change(patch) {
    this.keys.eager = null;
    this.store.set({ active: -1, walked: false, ...patch });
  }

  /**
   * Loads a module once, calls its `fill`. A file that gets lost is requested once more, so that the tap that needs it
   * counts, and again when the part is next needed. After an error in its code, a module is not loaded again.
   */
  later(module, place, name = "filled") {
    const bring = async (isLast) => {
      try {
        const part = await load(import.meta.resolve(module));
        return await part.fill(place, this);
      } catch (error) {
        if (!(error instanceof Event)) throw error; // otherwise a file got lost
      }
      if (isLast) return void (place[name] = null);
      await new Promise((done) => setTimeout(done, AGAIN));
      return bring(true);
    };
    return (place[name] ??= bring());
  }

  #loadBeside() {
    this.later("./start.js", this.start);
    if (this.search.names.length) this.later("./facets.js", this.facets);
  }

  #lock(on) {
    const page = document.documentElement;
    page.classList.toggle("semsearch-gutter", on && innerWidth > page.clientWidth);
    page.classList.toggle("semsearch-open", on);
  }
}

const primary = (tag) => tag.toLowerCase().split(/[-_]/)[0];

/** Builds the dialog. */
export async function start(host, { config, root, base, mac }, element = SemsearchDialog) {
  // Material clears the head.
  const styled = loadStyle(host, new URL("dialog.css", base));
  const { lang } = document.documentElement;
  const spoken = config.languages?.some((tag) => primary(tag) === primary(lang)); // a theme may write pt for pt-BR
  const reader = spoken && { language: lang };
  const { language = lang } = reader || config;
  const choice = config.static && load(import.meta.resolve("./static/engine.js")).then(({ choose }) => choose(config, root));
  const engine = Promise.resolve(choice).catch(() => null);
  const [t] = await Promise.all([loadStrings(base, language, config), styled]);
  if (!customElements.get(host.localName)) customElements.define(host.localName, element);
  host.build({ config, root, mac, t, engine, reader });
}
