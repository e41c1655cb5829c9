/* Which chunks match a question, and how well; the same steps as searching/candidates.py. */

import { applyLiteralRule, fuse, keepBest, scaleLexical, scaleSemantic, shareOfMeaning } from "./ranking.js";
import { nameHash } from "./text.js";

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
