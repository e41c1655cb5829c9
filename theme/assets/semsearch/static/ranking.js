/* From the two sides to ranked pages, in 32-bit floats as in searching/candidates.py, fusion.py, literal.py, ranking.py. */

import { nameHash, prepare } from "./text.js";

const { fround } = Math;

const FLOOR_RANK = 300;
const LEAST_SPAN = 0.15;
const LEXICAL_LIMIT = 1000;
const LEXICAL_LEAST = 200;
const LOOK_UP_WORDS = 2;
const LOOK_UP_SHARE = 0.5;
const BAND = fround(0.1);
const FLOOR = fround(0.7); // below the three bands of the literal rule
const PAGE_EVIDENCE = fround(0.1);
const EVIDENCE_SECTIONS = 5;
const WHOLE = fround(1 + 0.1 * EVIDENCE_SECTIONS);

/**
 * `question`: as `readQuestion` gives it. `asked`: its words, read. `similarities`: of all rows, or nothing where words
 * alone rank. `mask`: 1 for the rows allowed; null for all. `depth`: how many hits of the words take part beside
 * meaning. `weight`: its share in longer questions. Gives rows, what ranks them, and its two parts.
 */
export function findCandidates({ mode, question, asked, similarities, mask, depth, weight, core }) {
  const byMeaning = mode === "semantic" && similarities;
  let totals = byMeaning ? null : asked.totals(mask);
  if (totals && similarities) totals = keepBest(totals, depth);
  const rows = similarities ? rowsOf(mask, asked.rows) : rowsOf(totals);
  const semantic = similarities && picked(similarities, rows);
  if (byMeaning) return { rows, scores: semantic.map((similarity) => Math.max(0, similarity)), semantic, lexical: null };
  const lexical = picked(totals, rows, asked.unit);
  const byWords = scaleLexical(lexical);
  const fused = semantic ? fuse(scaleSemantic(semantic), byWords, shareOfMeaning(question.text, weight)) : byWords;
  const ranks = literalRanks({ question, asked, core });
  return { rows, scores: applyLiteralRule(fused, ranks, rows), semantic: semantic ?? null, lexical };
}

/** The places of what is not 0; where there is nothing, all of so many. */
export function rowsOf(values, length = values.length) {
  const rows = new Uint32Array(length);
  let count = 0;
  for (let row = 0; row < length; row++) if (!values || values[row]) rows[count++] = row;
  return rows.subarray(0, count);
}

/** Loops over typed arrays here are plain ones: `from` and closures take ten times as long. */
function picked(values, rows, unit = 1) {
  const found = new Float32Array(rows.length);
  for (let at = 0; at < rows.length; at++) found[at] = values[rows[at]] / unit;
  return found;
}

/** Row to rank: 1 for the identifier that the question is, 2 where it is a heading, 3 where it is a title. */
function literalRanks({ question, asked, core }) {
  const ranks = new Map();
  if (question.words.length === 1) for (const row of asked.identifierRows()) ranks.set(row, 1);
  const [names, namedRows, nameRanks] = ["name_hash", "name_row", "name_rank"].map((name) => core.array(name));
  const hash = nameHash(question.text);
  for (let at = hash === null ? -1 : names.indexOf(hash); at >= 0 && names[at] === hash; at++)
    ranks.set(namedRows[at], Math.max(nameRanks[at], ranks.get(namedRows[at]) ?? 0));
  return ranks;
}

/** Cosine similarities to 0–1: the best is 1, and 0 is where the tail of the site begins. */
export function scaleSemantic(similarities) {
  if (!similarities.length) return similarities;
  const sorted = Float32Array.from(similarities).sort();
  const atRank = (rank) => sorted.at(-Math.min(rank, sorted.length));
  const best = sorted.at(-1);
  const floor = Math.min(atRank(FLOOR_RANK), best - LEAST_SPAN);
  const span = fround(best - floor);
  return similarities.map((similarity) => Math.max(0, Math.min(1, fround(similarity - fround(floor)) / span)));
}

/** Scores to 0–1: the best is 1. */
function scaleLexical(scores) {
  const best = scores.reduce((most, score) => Math.max(most, score), 0);
  return best > 0 ? scores.map((score) => score / best) : scores;
}

/** The share of meaning in the scores of a question: half as much where it is no more than a word or two. */
const shareOfMeaning = (text, weight) =>
  prepare(text).split(" ").filter(Boolean).length > LOOK_UP_WORDS ? weight : weight * LOOK_UP_SHARE;

/** `weight`: share of meaning. */
const fuse = (semantic, lexical, weight) =>
  semantic.map((score, at) => fround(weight * score) + fround((1 - weight) * lexical[at]));

/** How many hits of the words take part: of those that filters leave, as many as are left of the thousand. */
export function lexicalDepth(mask) {
  if (!mask) return LEXICAL_LIMIT;
  const kept = mask.reduce((sum, bit) => sum + bit, 0);
  return Math.max(LEXICAL_LEAST, rounded((LEXICAL_LIMIT * kept) / Math.max(1, mask.length), 0));
}

/** Sets all but the best to 0; of equals the first stay. */
function keepBest(totals, depth) {
  const sorted = Float64Array.from(totals).sort();
  const edge = sorted.at(-depth) ?? 0;
  if (edge <= 0) return totals;
  let equals = depth - (sorted.length - 1 - sorted.lastIndexOf(edge));
  return totals.map((total) => (total > edge || (total === edge && equals-- > 0) ? total : 0));
}

/** Lifts titles (3), headings (2) and identifiers (1) that are what was asked for above all others. */
function applyLiteralRule(scores, ranks, rows) {
  const lifted = (score, rank) => (rank ? FLOOR + fround(BAND * fround(rank - 1 + score)) : score * FLOOR);
  const holds = ranks.size && rows.some((row) => ranks.has(row));
  return holds ? scores.map((score, at) => lifted(score, ranks.get(rows[at]))) : scores;
}

/** The best of each run of rows of one section, the first of equals: their places, and how many. */
function bestOfSections(rows, scores, sectionOf) {
  const best = new Uint32Array(rows.length);
  let count = 0;
  let section = -1;
  for (let at = 0; at < rows.length; at++) {
    if (sectionOf[rows[at]] !== section) {
      section = sectionOf[rows[at]];
      best[count++] = at;
    } else if (scores[at] > scores[best[count - 1]]) best[count - 1] = at;
  }
  return best.subarray(0, count);
}

/**
 * Groups sections by page, best page first; a page scores its best section and a little for each of the next five.
 * `sections` of a page: the places of what is best in each of its sections, best first.
 */
export function rankPages({ rows, scores }, { sectionOf, pageOf }) {
  const best = bestOfSections(rows, scores, sectionOf);
  const pages = [];
  for (let from = 0, to = 0; from < best.length; from = to) {
    const page = pageOf[rows[best[from]]];
    while (to < best.length && pageOf[rows[best[to]]] === page) to += 1;
    const sections = [...best.subarray(from, to)].sort((a, b) => scores[b] - scores[a]);
    pages.push({ page, sections, score: pageScore(sections, scores) });
  }
  return pages.sort((a, b) => b.score - a.score);
}

function pageScore([first, ...others], scores) {
  let total = scores[first];
  for (const at of others.slice(0, EVIDENCE_SECTIONS)) total = fround(total + fround(PAGE_EVIDENCE * scores[at]));
  return fround(total / WHOLE);
}

/** Rounds as Python does, halves to even; exact for 32-bit floats. */
export function rounded(value, digits) {
  const scaled = value * 10 ** digits;
  const whole = Math.floor(scaled);
  const up = scaled - whole > 0.5 || (scaled - whole === 0.5 && whole % 2 === 1);
  return (up ? whole + 1 : whole) / 10 ** digits;
}

/** A score as answers show it: 0 to 1, six digits. */
export const presented = (score) => rounded(Math.min(1, Math.max(0, score)), 6);
