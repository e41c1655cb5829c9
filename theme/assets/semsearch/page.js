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
  enter() {}

  leave() {}

  restore() {}

  update(search) {
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
    if (this.isConnected) this.open();
  }

  /** Shows the search in the address. */
  open() {
    const { search } = location;
    this.begin(parseSearch(/[?&]query=/.test(search) ? search : search.replace(/(?<=[?&])q=/, `${NAME}=`), NAME));
  }

  /** Moves the focus to the field; on other pages the dialog opens instead. */
  take({ query }) {
    if (query) this.ask(query);
    this.input.focus();
    this.input.select();
  }
}

/** Replaces the form that works without JavaScript by the box. */
async function mount() {
  const form = document.querySelector("form[data-semsearch=page]:not([hidden])");
  if (!form) return;
  const typed = form.elements.q.value;
  const box = document.createElement("semsearch-page");
  const settings = await fetch(new URL("config.json", base));
  form.after(box);
  const mac = /Mac|iPhone|iPad/.test(navigator.platform);
  await start(box, { config: await settings.json(), root, base, mac }, SemsearchPage);
  await loadStyle(box, new URL("page.css", base)); // after the dialog's own
  form.hidden = true;
  box.open();
  if (typed) box.take({ query: typed });
  const dialog = document.querySelector("semsearch-dialog");
  if (!dialog) return;
  dialog.open = (given) => (box.isConnected ? box.take(given) : SemsearchDialog.prototype.open.call(dialog, given));
}

if (window.document$?.subscribe) window.document$.subscribe(mount);
else mount();
