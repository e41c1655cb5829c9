/* The results page: the search box as part of a page, with the search in the query string of its URL. */

import { SemsearchDialog, start } from "./dialog.js";
// Imported here, so that all of them are loaded at once and not one after the other.
import "./excerpt.js";
import "./facets.js";
import "./results.js";
import "./start.js";
import "./values.js";
import { isQuestion, parseSearch, questionKey } from "./state.js";
import { h, loadStyle } from "./ui.js";

const base = new URL(".", import.meta.url);
const root = new URL("../../", base);
const NAME = "query"; // themes open their own search at `q`, which is only read

class PageAddress {
  #path = "";

  enter() {
    this.#path = location.pathname;
  }

  leave() {}

  restore() {}

  /** With instant navigation, the address can be that of another page while this one is still shown. */
  isCurrent() {
    return location.pathname === this.#path;
  }

  update(search) {
    if (!this.isCurrent()) return;
    const address = location.href.split(/[?#]/)[0] + (isQuestion(search) ? `?${questionKey(search, NAME)}` : "");
    history.replaceState(history.state, "", address);
  }
}

class SemsearchPage extends SemsearchDialog {
  prefix = "semsearch-page";

  get isOpen() {
    return this.store.state.open;
  }

  createAddress() {
    return new PageAddress();
  }

  frame(...parts) {
    this.link.remove(); // it leads here
    return h("div.ss-dialog.ss-inline", {}, parts);
  }

  /* A page cannot be closed, and Tab leads out of the box. */

  hide() {}

  close() {}

  keepFocus() {}

  refocus() {
    this.input.focus({ preventScroll: true });
  }

  followAddress() {
    if (this.isConnected && this.address.isCurrent()) this.open();
  }

  /** Shows the search in the address. */
  open() {
    const { search } = location;
    this.address.enter();
    this.begin(parseSearch(/[?&]query=/.test(search) ? search : search.replace(/(?<=[?&])q=/, `${NAME}=`), NAME));
  }

  /** Moves the focus to the field; on other pages the dialog opens instead. */
  take({ query } = {}) {
    if (query) this.ask(query);
    this.input.focus();
    this.input.select();
  }
}

let box = null;

/** Replaces the form that works without JavaScript by the box; after Back with instant navigation, by the same box. */
async function mount() {
  const form = document.querySelector("form[data-semsearch=page]:not([hidden])");
  if (!form) return;
  if (box) await insertAgain(form);
  else box = await create(form);
  // The reader may be typing there, and goes on in the box.
  const typed = form.elements.q.value;
  const held = form.contains(document.activeElement);
  form.hidden = true;
  form.reset(); // the browser would fill it in again after Back
  box.open();
  if (typed) box.ask(typed);
  else if (held) box.input.focus();
  const dialog = document.querySelector("semsearch-dialog");
  if (!dialog) return;
  dialog.open = (given) => (box.isConnected ? box.take(given) : SemsearchDialog.prototype.open.call(dialog, given));
}

async function create(form) {
  const page = document.createElement("semsearch-page");
  const settings = await fetch(new URL("config.json", base));
  form.after(page);
  const mac = /Mac|iPhone|iPad/.test(navigator.platform);
  await start(page, { config: await settings.json(), root, base, mac }, SemsearchPage);
  await loadStyle(page, new URL("page.css", base)); // after the dialog's own
  return page;
}

/** Shows the box once its style sheets, which the browser then loads again, have arrived. */
async function insertAgain(form) {
  box.hidden = true;
  form.after(box);
  const arrived = (link) => new Promise((done) => Object.assign(link, { onload: done, onerror: done }));
  await Promise.all([...box.querySelectorAll("link")].map(arrived));
  box.hidden = false;
}

if (window.document$?.subscribe) window.document$.subscribe(mount);
else mount();
