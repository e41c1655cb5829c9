/* Fuses the scores of words and of meaning into ranked pages, in 32-bit floats as searching/ranking.py does. */

import { isAnswerable, kindPriors, matchShare } from "./judgement.js";
import { HEADING } from "./names.js";

const { fround } = Math;

const BAND = fround(0.1);
const IDENTIFIER = 1; // a rank of the literal rule
const FLOOR = fround(0.7); // exact matches are lifted into bands above this score, those of pins above 1

/**
 * Returns the rows that a mask allows (null for all), their scores by both sides, and which of them match.
 *
 * `question`: as the index has read it. `asked`: scores rows by words. `similarities`: of all rows; missing where words
 * alone rank. `weights`: the table of static.json. `phrased`: the mask holds the rows with the phrase, and all of them
 * match. `depth`: how many hits by words take part beside meaning.
 */
export function judge(given, mask, depth) {
  const { mode, question, asked, similarities, core, weights, phrased, chunkFactors } = given;
  const byMeaning = mode === "semantic" && similarities;
  const totals = similarities ? keepBest(asked.totals(mask), depth) : asked.totals(mask);
  const named = asked.literalRanks(core, mask);
  const isFound = (total, row) => +(total > 0 || named.has(row));
  const rows = similarities || phrased ? rowsOf(mask, asked.rows) : rowsOf(named.size ? totals.map(isFound) : totals);
  const semantic = similarities && picked(similarities, rows);
  const ranks = byMeaning ? new Map() : named;
  const worded = picked(totals, rows, asked.unit); // judged in every mode
  const scaled = byMeaning ? [null, null] : [semantic && scaleSemantic(semantic, weights.fusion), scaleLexical(worded)];
  const parts = scaled.map((side) => side && multiplied(side, rows, chunkFactors));
  const fusion = fusionOf(rows, given);
  const sides = byMeaning ? semantic.map((similarity) => Math.max(0, similarity)) : fuse(parts, fusion);
  const scores = withPriors(sides, rows, given);
  const matching = matchesAmong(scores, { rows, semantic, worded, named, ranks, byMeaning }, given);
  const lexical = byMeaning ? null : worded;
  return { rows, semantic: semantic ?? null, lexical, parts, sides, matching, ranks: lifting(ranks, given) };
}

/** Returns the literal ranks, lowered for headings on pages whose kind has a low factor, such as release notes. */
function lifting(ranks, { asked, question, weights, kindOf }) {
  if (!ranks.size) return ranks;
  const priors = kindPriors(question, weights.kinds);
  const least = fround(weights.headings.least_kind);
  const lowered = asked.identifier ? IDENTIFIER : 0;
  const rankOf = (row, rank) => (rank === HEADING && priors[kindOf(row)] < least ? lowered : rank);
  return new Map([...ranks].map(([row, rank]) => [row, rankOf(row, rank)]).filter(([, rank]) => rank));
}

/** Returns what has been judged, with only the rows that a mask allows. */
export function only(judged, mask) {
  const places = rowsOf(Uint8Array.from(judged.rows, (row) => mask[row]));
  const some = (part) => (ArrayBuffer.isView(part) ? picked(part, places, 1, part.constructor) : part);
  const kept = Object.entries(judged).map(([name, part]) => [name, some(part)]);
  return { ...Object.fromEntries(kept), parts: judged.parts.map(some) };
}

/** Returns the scores of rows and of their pages, with the rules for headings and literal matches. */
export function score({ sides: plain, ...judged }, given) {
  const { rows, parts, ranks, lexical } = judged; // `lexical` is null where meaning alone ranks
  const { asked, core, sectionOf, pageOf, sectionFactors, weights } = given;
  const headed = lexical && asked.headed(rows, core);
  const isHeaded = headed && ((at) => headed[rows[at]]);
  const fusion = fusionOf(rows, given);
  if (isHeaded) fusion.factor = weights.headings.semantic;
  const sides = isHeaded ? fuse(parts, fusion) : plain;
  const finished = (scores) => {
    const lifted = isHeaded ? addHeadingBonus(scores, isHeaded, weights.headings.bonus) : scores;
    return applyLiteralRule(withPriors(lifted, rows, given), ranks, rows);
  };
  const pageScores = scorePages(sides, parts, { rows, sectionOf, pageOf, fusion, ...weights.pages });
  const scores = finished(lexical ? multiplied(sides, rows, sectionFactors) : sides);
  return { ...judged, scores, pageScores: finished(pageScores) };
}

const multiplied = (scores, rows, factors) => scores.map((score, at) => score * factors[rows[at]]);

function fusionOf(rows, { semantic, weights, meaningOf }) {
  const meaning = meaningOf && ((at) => meaningOf(rows[at]));
  return { weight: semantic?.weight ?? weights.fusion.semantic, meaning };
}

function withPriors(scores, rows, { question, weights, kindOf, factorOf }) {
  const priors = kindPriors(question, weights.kinds);
  return scores.map((value, at) => value * fround(priors[kindOf(rows[at])] * fround(factorOf(rows[at]))));
}

/** Returns a mask: 1 for the rows that match. */
function matchesAmong(scores, candidates, { question, asked, semantic: side, weights, phrased, evidence }) {
  const { rows, semantic, worded, named, ranks, byMeaning } = candidates;
  const best = evidence?.(candidates) ?? { similarity: highest(semantic ?? [], -1), words: highest(worded, 0) };
  if (byMeaning && !best.words) best.words = null; // not every back end looks for words then
  const isJudged = side?.measured && semantic && rows.length && !named.size && !phrased;
  const rule = weights.static_matches;
  const least = isJudged ? matchShare(question, best, rule) : rule.share;
  const matching = matches(scores, byMeaning ? weights.matches.semantic_share : least);
  rows.forEach((row, at) => ranks.has(row) && (matching[at] = 1));
  if (phrased) matching.fill(1);
  else if (isJudged) {
    const site = { rule: weights.static_nothing, chunks: asked.rows, hasAll: asked.withAll(rows, false) };
    if (!isAnswerable(question, best, site)) matching.fill(0);
  }
  return matching;
}

/** Lifts rows whose heading has all words of the question. */
function addHeadingBonus(scores, isHeaded, bonus) {
  const most = fround(1 + bonus);
  return scores.map((score, at) => fround(score + (isHeaded(at) ? fround(bonus) : 0)) / most);
}

export const highest = (scores, least) => scores.reduce((most, score) => Math.max(most, score), least);

/** Returns a mask: 1 for scores that are above 0 and at least a share of the best one. */
function matches(scores, share) {
  const least = fround(fround(share) * highest(scores, 0));
  return Uint8Array.from(scores, (score) => +(score >= least && score > 0));
}

/**
 * Fuses two lists of scaled scores. `weight` times `factor` is the weight of the first one; `meaning`, if given, says
 * how much of it counts at each place.
 */
function fuse([scaled, lexical], { weight, meaning, factor = 1 }) {
  if (!scaled) return lexical;
  const [share, rest] = [fround(factor * weight), fround(1 - factor * weight)];
  if (!meaning) return scaled.map((score, at) => fround(share * score) + fround(rest * lexical[at]));
  return scaled.map((score, at) => {
    const part = fround(fround(factor) * fround(fround(weight) * meaning(at)));
    return fround(part * score) + fround(fround(1 - part) * lexical[at]);
  });
}

/** Returns the positions of the values that are not 0; without values, all positions up to `length`. */
export function rowsOf(values, length = values.length) {
  const rows = new Uint32Array(length);
  let count = 0;
  for (let row = 0; row < length; row++) if (!values || values[row]) rows[count++] = row;
  return rows.subarray(0, count);
}

/** Uses a plain loop, like others here: on typed arrays, `from` and closures take ten times as long. */
function picked(values, rows, unit = 1, Values = Float32Array) {
  const found = new Values(rows.length);
  for (let at = 0; at < rows.length; at++) found[at] = values[rows[at]] / unit;
  return found;
}

/** Scales cosine similarities to 0–1: the best is 1, and 0 is where the many unrelated rows begin. */
export function scaleSemantic(similarities, { floor_rank, least_span }) {
  if (!similarities.length) return similarities;
  const sorted = Float32Array.from(similarities).sort();
  const atRank = (rank) => sorted.at(-Math.min(rank, sorted.length));
  const best = sorted.at(-1);
  const floor = Math.min(atRank(floor_rank), best - least_span);
  const span = fround(best - floor);
  return similarities.map((similarity) => Math.max(0, Math.min(1, fround(similarity - fround(floor)) / span)));
}

/** Scales scores to 0–1: the best is 1. */
function scaleLexical(scores) {
  const best = highest(scores, 0);
  return best > 0 ? scores.map((score) => score / best) : scores;
}

/** Returns the number of lexical hits in the ranking; with filters, in proportion to the rows that pass them. */
export function lexicalDepth(mask, { lexical_limit, lexical_least }) {
  if (!mask) return lexical_limit;
  const kept = mask.reduce((sum, bit) => sum + bit, 0);
  return Math.max(lexical_least, rounded((lexical_limit * kept) / Math.max(1, mask.length), 0));
}

/** Keeps the best scores and sets the others to 0; the first of equal ones are kept. */
function keepBest(totals, depth) {
  const sorted = Float64Array.from(totals).sort();
  const edge = sorted.at(-depth) ?? 0;
  if (edge <= 0) return totals;
  let equals = depth - (sorted.length - 1 - sorted.lastIndexOf(edge));
  return totals.map((total) => (total > edge || (total === edge && equals-- > 0) ? total : 0));
}

/** Lifts rows whose pin (4), title (3), heading (2) or identifier (1) is the question above all others. */
function applyLiteralRule(scores, ranks, rows) {
  const lifted = (score, rank) => (rank ? FLOOR + fround(BAND * fround(rank - 1 + score)) : score * FLOOR);
  const holds = ranks.size && rows.some((row) => ranks.has(row));
  return holds ? scores.map((score, at) => lifted(score, ranks.get(rows[at]))) : scores;
}

/** Returns the position of the best row of each section (the first one wins a tie), and the number of sections. */
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

/** Yields each page with the best rows of its sections and the places where its rows start and end. */
function* eachPage(rows, best, pageOf) {
  let [to, end] = [0, 0];
  while (to < best.length) {
    const [from, start] = [to, end];
    const page = pageOf[rows[start]];
    while (to < best.length && pageOf[rows[best[to]]] === page) to += 1;
    while (end < rows.length && pageOf[rows[end]] === page) end += 1;
    yield { page, best: best.subarray(from, to), start, end };
  }
}

/**
 * Returns the score of the page of every row: the score of its best section and a little for each of the next ones,
 * averaged with the best scores of both sides, which may be in different sections.
 */
function scorePages(sides, parts, { rows, sectionOf, pageOf, fusion, evidence, sections, each_side }) {
  const scores = new Float32Array(rows.length);
  for (const { best, start, end } of eachPage(rows, bestOfSections(rows, sides, sectionOf), pageOf)) {
    const [first, ...others] = Float32Array.from(best, (at) => sides[at]).sort().reverse();
    let total = first;
    for (const score of others.slice(0, sections)) total = fround(total + fround(fround(evidence) * score));
    total = fround(total / fround(1 + evidence * sections));
    if (parts.every(Boolean)) {
      const greatest = parts.map((part) => Float32Array.of(highest(part.subarray(start, end), 0)));
      const meaning = fusion.meaning && (() => fusion.meaning(start));
      [total] = fuse([fuse(greatest, { ...fusion, meaning }), Float32Array.of(total)], { weight: each_side });
    }
    scores.fill(total, start, end);
  }
  return scores;
}

/**
 * Groups sections by page; a page matches where one of its chunks does. Returns the pages that match, best first, then
 * those that do not, and the rows that match.
 */
export function rankPages({ rows, scores, pageScores, matching }, { sectionOf, pageOf }, minScore) {
  const matchingSections = new Set();
  rows.forEach((row, at) => matching[at] && matchingSections.add(sectionOf[row]));
  const pages = [];
  for (const { page, best, start, end } of eachPage(rows, bestOfSections(rows, scores, sectionOf), pageOf)) {
    const score = highest(pageScores.subarray(start, end), 0);
    if (minScore && presented(score) < minScore) continue;
    const sections = [...best].sort((a, b) => scores[b] - scores[a]);
    const shown = sections.filter((at) => matchingSections.has(sectionOf[rows[at]]));
    pages.push({ page, score, weak: !shown.length, sections: shown.length ? shown : sections });
  }
  pages.sort((a, b) => a.weak - b.weak || b.score - a.score);
  let lowest = Infinity; // scores never increase down the list, not even from the matches to the weak pages
  for (const page of pages) page.score = lowest = Math.min(lowest, page.score);
  const kept = new Set(pages.filter(({ weak }) => !weak).map(({ page }) => page));
  return { pages, total: kept.size, matched: rows.filter((row, at) => matching[at] && kept.has(pageOf[row])) };
}

/** Rounds halves to even like Python; exact for 32-bit floats. */
export function rounded(value, digits) {
  const scaled = value * 10 ** digits;
  const whole = Math.floor(scaled);
  const up = scaled - whole > 0.5 || (scaled - whole === 0.5 && whole % 2 === 1);
  return (up ? whole + 1 : whole) / 10 ** digits;
}

/** Returns a score as answers show it: 0 to 1, six digits. */
export const presented = (score) => rounded(Math.min(1, Math.max(0, score)), 6);
