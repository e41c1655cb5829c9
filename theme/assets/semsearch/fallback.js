/*
 * Search without the sidecar: the theme's own index, read in the browser and ranked by page and heading. It finds
 * words, not meanings, and answers in the same shape as the sidecar.
 */

import { fold, isWhole, marksIn, occurrences, termsOf } from "./terms.js";

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", para: "" };
const SECTIONS = 10;

/** Answers from `search/search_index.json` (MkDocs, Material) or `search.json` (Zensical) under the site root. */
export class Fallback {
  #entries = null;

  constructor(root) {
    this.root = root;
  }

  async search({ query, offset = 0, limit = 10 }) {
    const entries = await (this.#entries ??= this.#load().catch((error) => {
      this.#entries = null;
      throw error;
    }));
    const ranked = rank(entries, termsOf(query));
    const results = ranked.slice(offset, offset + limit).map((page) => describe(page, termsOf(query)));
    return { query, results, total: ranked.length, facets: {}, degraded: false, source: "fallback" };
  }

  async #load() {
    const zensical = /zensical/i.test(document.querySelector("meta[name=generator]")?.content ?? "");
    const response = await fetch(new URL(zensical ? "search.json" : "search/search_index.json", this.root));
    if (!response.ok) throw new Error("This site has no search index");
    const { docs, items } = await response.json();
    return (docs ?? items ?? []).map(toEntry);
  }
}

function toEntry({ location, title, text }) {
  const plain = plainText(text ?? "");
  const heading = plainText(title ?? "");
  const [url] = (location ?? "").split("#");
  return { url, location, title: heading, text: plain, foldedTitle: fold(heading), foldedText: fold(plain) };
}

/** Material keeps HTML in its index, MkDocs does not; what is left goes through textContent anyway. */
function plainText(text) {
  return text
    .replace(/<\/?[a-z][^>]*>/gi, " ")
    .replace(/&(#x?[\da-f]+|[a-z]+);/gi, (whole, name) => {
      if (name[0] !== "#") return ENTITIES[name.toLowerCase()] ?? whole;
      const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
      return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : "";
    })
    .replace(/\s+/g, " ")
    .trim();
}

function rank(entries, terms) {
  if (!terms.length) return [];
  const matches = entries.map((entry) => ({ entry, hits: terms.map((term) => hitsOf(entry, term)) }));
  const rarity = terms.map((_, index) => {
    const having = matches.filter(({ hits }) => hits[index] > 0).length;
    return Math.log(1 + entries.length / (1 + having));
  });
  const pages = new Map();
  for (const { entry, hits } of matches) {
    const found = hits.filter((hit) => hit > 0).length;
    const page = pages.get(entry.url) ?? { url: entry.url, title: entry.title, score: 0, sections: [] };
    pages.set(entry.url, page);
    if (entry.location === entry.url) page.title = entry.title;
    if (!found) continue;
    const score = hits.reduce((sum, hit, index) => sum + hit * rarity[index], 0) * (found / terms.length) ** 2;
    // MkDocs repeats the whole page under the page's own entry: its sections say where the words are.
    const whole = entry.location === entry.url;
    page.score = Math.max(page.score, score);
    page.sections.push({ entry, score: whole ? score * 0.6 : score });
  }
  const found = [...pages.values()].filter(({ sections }) => sections.length);
  for (const page of found) page.sections.sort((a, b) => b.score - a.score);
  return found.sort((a, b) => b.score - a.score);
}

function hitsOf({ foldedTitle, foldedText }, term) {
  const [title] = occurrences(foldedTitle, term, 1);
  const inTitle = title === undefined ? 0 : isWhole(foldedTitle, term, title) ? 6 : 4;
  const count = occurrences(foldedText, term).length;
  return inTitle + (2 * count) / (count + 1.5);
}

function describe({ url, title, score, sections }, terms) {
  return {
    score,
    page: { url, title, path: url },
    sections: sections.slice(0, SECTIONS).map(({ entry }) => ({
      url: entry.location,
      heading_hierarchy: entry.location === url ? [title] : [title, entry.title],
      kind: "text",
      ...excerptOf(entry.text, terms),
    })),
  };
}

function excerptOf(text, terms) {
  const first = marksIn(text, terms)[0]?.[0] ?? 0;
  const from = first > 80 ? text.indexOf(" ", first - 70) + 1 : 0;
  const cut = text.slice(from, from + 220);
  const excerpt = `${from ? "… " : ""}${cut}${from + 220 < text.length ? " …" : ""}`;
  return { excerpt, highlights: marksIn(excerpt, terms) };
}
