/* Judges a question: which kinds of pages it asks for, whether the site answers it, and how good a match must be. See
   searching/judgement.py. */

import { identifierForms } from "./text.js";

const { fround } = Math;

const KINDS = "guide reference changelog blog archive contributing proposal unlisted documented".split(" ");

const [BEGIN, END, TAIL] = ["(?<![\\p{L}\\p{N}_])", "(?![\\p{L}\\p{N}_])", "[\\p{L}\\p{N}_]+"]; // \b and \w+ with all letters
const ASKS_FOR_CHANGES = new RegExp(
  `(?:^|${BEGIN}(?:in|since|to|from|with|for|of|before|after|until) )v?\\d+\\.(?:\\d|x${END})` +
    `|${BEGIN}v\\d+\\.\\d|${BEGIN}(?:versions?|releases?) v?\\d` +
    `|${BEGIN}(?:upgrad|migrat|updat)${TAIL} (?:from|to|guide|notes) (?:version )?v?\\d` +
    `|${BEGIN}(?:(?:release|version) (?:notes|history)|change ?logs?|what'?s new|new in|what changed|changed in|removed in` +
    `|breaking changes?|(?:latest|new|newest|last|next|which|what) (?:stable )?(?:releases?|versions?)` +
    `|\\d+\\.\\d+ releases?|deprecat${TAIL}|news|blog|announcements?` +
    `|(?:after|since) (?:an? |the )?(?:upgrad|updat)${TAIL}|notas de|nouveautés|neuerungen|novedades)${END}`,
  "iu",
);
const ASKS_FOR_DEVELOPMENT = new RegExp(
  `${BEGIN}(?:contribut${TAIL}|develop(?:ers?|ing|ment)?|proposals?|rfcs?|adrs?|enhancements?|pull requests?|source code)${END}`,
  "iu",
);

/** Returns the factor of each kind of page; 1 for a kind that the question is about. */
export function kindPriors(question, kinds) {
  const wanted = [];
  if (ASKS_FOR_CHANGES.test(question.text)) wanted.push("changelog", "blog", "archive");
  if (ASKS_FOR_DEVELOPMENT.test(question.text)) wanted.push("contributing", "proposal");
  if (question.words.some((word) => identifierForms(word).length)) wanted.push("reference", "documented");
  return KINDS.map((kind) => fround(wanted.includes(kind) ? 1 : (kinds[kind] ?? 1)));
}

/** Returns the best score of words, relative to that of a chunk with every word of the question once. */
const heldOf = ({ weight }, words) => (weight ? words / weight : 0);

/**
 * Returns whether the site answers the question at all, judged by its best similarity, null for none, and lexical score,
 * null if no words were looked for. `hasAll` is whether a chunk has all words of the question.
 */
export function isAnswerable(question, { similarity, words }, { rule, chunks, hasAll }) {
  const { known, telling, has_code, has_number } = question;
  const held = Math.min(1, heldOf(question, words));
  const size = Math.min(1, Math.sqrt(Math.log(Math.max(rule.least_chunks, chunks)) / Math.log(rule.chunks)));
  if (words !== 0) {
    if (has_code || (has_number && known >= rule.number)) return true;
    if (known === 1 && telling.length <= rule.short) {
      const isNear = similarity === null || similarity >= rule.near * size;
      if (telling.length === 1 || words === null || held >= rule.together || isNear || hasAll) return true;
    }
  }
  if (similarity === null) return known + held >= rule.by_words;
  const needed = rule.similarity * size - rule.known * known - rule.words * held;
  return similarity >= Math.min(needed, rule.enough * size);
}

/** Returns the share of the best score from which a chunk matches: less where even the best chunk has little of the question. */
export function matchShare(question, { similarity, words }, rule) {
  if (similarity === null) return rule.share;
  const near = Math.min(1, similarity / rule.similarity);
  const held = Math.min(1, heldOf(question, words) / rule.words);
  return Math.max(rule.least, rule.share * near * held);
}
