/*
 * Searches the theme's own index in the browser while the sidecar does not answer. It matches words, not meanings, and
 * its answers have the form of the sidecar's. Loaded when needed.
 */

import { fold, isWord, marksIn, occurrences } from "./excerpt.js";

const WORD = /[\p{L}\p{N}_]+/gu;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", para: "" };
let opened = null;

/** Opens `search/search_index.json` (MkDocs, Material) or `search.json` (Zensical) under the site root, once. */
export function openIndex({ root }) {
  opened ??= load(root).catch((error) => {
    opened = null;
    throw error;
  });
  return opened;
}

async function load(root) {
  const zensical = document.querySelector("meta[name=generator][content*=zensical i]");
  const response = await fetch(new URL(zensical ? "search.json" : "search/search_index.json", root));
  const { docs, items } = await response.json();
  const entries = (docs ?? items).map(toEntry);
  const engine = { search };
  return engine;

  async function search({ query, filters, correct, offset = 0 }) {
    const terms = [...new Set(fold(query).match(WORD))];
    if (!terms.length) throw new Error("The theme's index cannot be browsed.");
    const ranked = rank(entries, terms);
    const telling = terms.filter((term) => !isFiller(term, entries));
    const results = ranked.slice(offset, offset + 10).map((page) => describe(page, telling.length ? telling : terms));
    const asked = { query, filters, literal: correct === false };
    return { ...asked, results, total: ranked.length, weaker: 0, facets: null, mode: "fallback", engine };
  }
}

function toEntry({ location, title, text }) {
  const entry = { url: location.split("#")[0], location, title: plain(title), text: plain(text) };
  return { ...entry, foldedTitle: fold(entry.title), foldedText: fold(entry.text) };
}

/** Material keeps HTML in its index, MkDocs does not. Everything that remains is shown as text. */
function plain(text = "") {
  return text
    .replace(/<\/?[a-z][^>]*>/gi, " ")
    .replace(/&(?:#(\d+)|([a-z]+));/gi, (whole, code, name) =>
      code ? String.fromCodePoint(Math.min(code, 0x10ffff)) : (ENTITIES[name.toLowerCase()] ?? whole),
    )
    .replace(/\s+/g, " ")
    .trim();
}

function rank(entries, terms) {
  const hits = entries.map((entry) => terms.map((term) => hitsOf(entry, term)));
  const rarity = terms.map((_, index) => Math.log(1 + entries.length / (1 + hits.filter((hit) => hit[index]).length)));
  const pages = new Map();
  entries.forEach((entry, index) => {
    const { url, location, title } = entry;
    if (!pages.has(url)) pages.set(url, { url, title, score: 0, sections: [] });
    const page = pages.get(url);
    if (location === url) page.title = title;
    const found = hits[index].filter(Boolean).length / terms.length;
    const sum = hits[index].reduce((total, hit, term) => total + hit * rarity[term], 0);
    // MkDocs repeats the whole page under the page's own entry: its sections say where the words are.
    const score = sum * found ** 2 * (location === url ? 0.6 : 1);
    if (score) page.sections.push({ entry, score });
    page.score = Math.max(page.score, score);
  });
  const byScore = (a, b) => b.score - a.score;
  const matching = [...pages.values()].filter(({ score }) => score).sort(byScore);
  for (const page of matching) {
    const [best] = page.sections.sort(byScore);
    const repeats = ({ entry }) =>
      entry !== best.entry && entry.location === page.url && entry.text.includes(best.entry.text);
    page.sections = page.sections.filter((section) => !repeats(section));
  }
  return matching;
}

/** Says whether a word is short and on most pages, such as "a" and "to": it is not marked. */
function isFiller(term, entries) {
  return term.length < 4 && entries.filter(({ foldedText }) => occurrences(foldedText, term).length).length > entries.length / 2;
}

function hitsOf({ foldedTitle, foldedText }, term) {
  const [title = -1] = occurrences(foldedTitle, term);
  const inTitle = title < 0 ? 0 : isWord(foldedTitle[title + term.length]) ? 4 : 6;
  const count = occurrences(foldedText, term).length;
  return inTitle + (2 * count) / (count + 1.5);
}

function describe({ url, title, sections }, terms) {
  return {
    page: { url, title, path: url.replace(/\/$/, "") },
    sections: sections.slice(0, 10).map(({ entry }) => ({
      url: entry.location,
      heading_hierarchy: entry.location === url ? [title] : [title, entry.title],
      kind: "text",
      content: entry.text,
      ...excerptOf(entry.text, terms),
    })),
  };
}

function excerptOf(text, terms) {
  const [[first] = [0]] = marksIn(text, terms);
  const start = first > 80 ? text.indexOf(" ", first - 70) + 1 : 0;
  const excerpt = (start ? "… " : "") + text.slice(start, start + 220) + (start + 220 < text.length ? " …" : "");
  return { excerpt, highlights: marksIn(excerpt, terms) };
}
