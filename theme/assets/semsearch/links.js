/* Where results lead, and the URL fragment that reproduces a search. */

import { activeFilters, appendFilters, parseFilters } from "./state.js";

const FRAGMENT = "semsearch";

/** Returns `href(section)`: relative to the site root, never off the site, with `h` for Material's highlighting. */
export function linkMaker(root) {
  const material = document.querySelector("[data-md-component=container], .md-container") !== null;
  return ({ url, excerpt = "", highlights = [] }) => {
    let target = new URL(root);
    try {
      const found = new URL(url ?? "", root);
      if (found.origin === target.origin) target = found;
    } catch {
      // Not a URL: the site's front page is the safest place to go.
    }
    const words = [...new Set(highlights.map(([start, end]) => excerpt.slice(start, end).toLowerCase()))];
    if (material && words.length) target.searchParams.set("h", words.slice(0, 8).join(" "));
    return target.href;
  };
}

/** The fragment for a search, or an empty string when there is nothing to reproduce. */
export function toFragment({ query, filters }) {
  if (!query.trim() && !activeFilters(filters).length) return "";
  return `#${appendFilters(new URLSearchParams({ [FRAGMENT]: query.trim() }), filters)}`;
}

/** The search that the address bar holds, or null. */
export function fromFragment(hash = location.hash) {
  if (!hash.startsWith(`#${FRAGMENT}=`)) return null;
  const params = new URLSearchParams(hash.slice(1));
  return { query: (params.get(FRAGMENT) ?? "").slice(0, 1000), filters: parseFilters(params) };
}

/** Whether following `href` stays in this document. */
export const isSamePage = (href) => href.split("#")[0] === location.href.split("#")[0];

/**
 * Keeps the address bar in step with the dialog. On a phone opening adds a history entry, so that Back closes the
 * dialog; elsewhere the current entry is rewritten and put back on closing.
 */
export class Address {
  #before = "";
  #pushed = false;

  enter(push) {
    this.#before = fromFragment() ? "" : location.hash;
    this.#pushed = push && !fromFragment();
    if (this.#pushed) history.pushState(history.state, "", `#${FRAGMENT}=`);
  }

  update(search) {
    const fragment = toFragment(search) || (this.#pushed ? `#${FRAGMENT}=` : this.#before);
    if (fragment !== location.hash) this.#replace(fragment);
  }

  /** The dialog closed by the reader's wish, not by Back. */
  leave() {
    if (this.#pushed && fromFragment()) history.back();
    else if (fromFragment()) this.#replace(this.#before);
    this.#pushed = false;
  }

  #replace(fragment) {
    history.replaceState(history.state, "", fragment || location.pathname + location.search);
  }
}
