/* From scores of chunks to ranked pages, in 32-bit floats as in searching/fusion.py, literal.py, ranking.py. */

const { fround } = Math;

const FLOOR_RANK = 300;
const DEEPEST_RANK = 3000;
const LEAST_SPAN = 0.15;
const LEXICAL_LIMIT = 1000;
const BAND = fround(0.1);
const FLOOR = fround(0.7); // below the three bands of the literal rule
const PAGE_EVIDENCE = fround(0.1);
const EVIDENCE_SECTIONS = 5;

/** Cosine similarities to 0–1: the best is 1, and 0 is where the tail of the site begins. */
export function scaleSemantic(similarities) {
  if (!similarities.length) return similarities;
  const sorted = Float32Array.from(similarities).sort();
  const atRank = (rank) => sorted.at(-Math.min(rank, sorted.length));
  const best = sorted.at(-1);
  let floor = Math.min(atRank(FLOOR_RANK), best - LEAST_SPAN);
  if (sorted.length >= DEEPEST_RANK) floor = Math.max(floor, Math.min(atRank(DEEPEST_RANK), best - LEAST_SPAN / 10));
  const span = fround(best - floor);
  return similarities.map((similarity) => Math.max(0, Math.min(1, fround(similarity - fround(floor)) / span)));
}

/** Scores to 0–1: the best is 1. */
export function scaleLexical(scores) {
  const best = scores.reduce((most, score) => Math.max(most, score), 0);
  return best > 0 ? scores.map((score) => score / best) : scores;
}

/** `weight`: share of meaning. */
export const fuse = (semantic, lexical, weight) =>
  semantic.map((score, at) => fround(weight * score) + fround((1 - weight) * lexical[at]));

/** Sets all but the best 1000 to 0; of equals the first stay. */
export function keepBest(totals) {
  const sorted = Float64Array.from(totals).sort();
  const edge = sorted.at(-LEXICAL_LIMIT) ?? 0;
  if (edge <= 0) return totals;
  let equals = LEXICAL_LIMIT - (sorted.length - 1 - sorted.lastIndexOf(edge));
  return totals.map((total) => (total > edge || (total === edge && equals-- > 0) ? total : 0));
}

/** Lifts titles (3), headings (2) and identifiers (1) that are what was asked for above all others. */
export function applyLiteralRule(scores, ranks) {
  if (!ranks.some(Boolean)) return scores;
  return scores.map((score, at) => (ranks[at] ? FLOOR + fround(BAND * fround(ranks[at] - 1 + score)) : score * FLOOR));
}

/** The best of each run of equal keys, the first of equals: {key, best, score}. */
export function groupBest(keys, scores) {
  const groups = [];
  let group = null;
  keys.forEach((key, at) => {
    if (group?.key !== key) groups.push((group = { key, best: at, score: scores[at] }));
    else if (scores[at] > group.score) Object.assign(group, { best: at, score: scores[at] });
  });
  return groups;
}

/** Groups sections by page; a page scores its best section and a little for each of the next five. */
export function rankPages(sections, pageOf) {
  const pages = [];
  for (const section of sections) {
    const page = pageOf(section);
    if (pages.at(-1)?.page !== page) pages.push({ page, sections: [] });
    pages.at(-1).sections.push(section);
  }
  const whole = fround(1 + 0.1 * EVIDENCE_SECTIONS);
  for (const found of pages) {
    found.sections.sort((a, b) => b.score - a.score);
    const [best, ...others] = found.sections.slice(0, EVIDENCE_SECTIONS + 1);
    const total = others.reduce((sum, { score }) => fround(sum + fround(PAGE_EVIDENCE * score)), best.score);
    found.score = fround(total / whole);
  }
  return pages.sort((a, b) => b.score - a.score);
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
