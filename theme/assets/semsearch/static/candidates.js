/* Which chunks match a question, and how well; the same steps as searching/candidates.py. */

import { applyLiteralRule, fuse, keepBest, scaleLexical, scaleSemantic } from "./ranking.js";
import { nameHash } from "./text.js";

/**
 * `question`: as `readQuestion` gives it. `asked`: its words, read. `similarities`: of all rows, or nothing where words
 * alone rank. `mask`: 1 for the rows allowed; null for all. Gives rows, what ranks them, and its two parts.
 */
export function findCandidates({ mode, question, asked, similarities, mask, weight, core }) {
  const isAllowed = (row) => !mask || mask[row];
  const byMeaning = mode === "semantic" && similarities;
  let totals = byMeaning ? null : asked.totals().map((total, row) => (isAllowed(row) ? total : 0));
  if (totals && similarities) totals = keepBest(totals);
  const all = Uint32Array.from({ length: asked.rows }, (_, row) => row);
  const rows = all.filter((row) => (similarities ? isAllowed(row) : totals[row] > 0));
  const semantic = similarities ? Float32Array.from(rows, (row) => similarities[row]) : null;
  const lexical = totals && Float32Array.from(rows, (row) => totals[row] / asked.unit);
  if (byMeaning) return { rows, scores: semantic.map((similarity) => Math.max(0, similarity)), semantic, lexical };
  const byWords = scaleLexical(lexical);
  const fused = semantic ? fuse(scaleSemantic(semantic), byWords, weight) : byWords;
  return { rows, scores: applyLiteralRule(fused, literalRanks({ question, asked, rows, core })), semantic, lexical };
}

/** 1 for rows with the identifier that the question is, 2 where it is their heading, 3 where it is their title. */
function literalRanks({ question, asked, rows, core }) {
  const ranks = new Map();
  if (question.words.length === 1) for (const row of asked.identifierRows()) ranks.set(row, 1);
  const [names, namedRows, nameRanks] = ["name_hash", "name_row", "name_rank"].map((name) => core.array(name));
  const hash = nameHash(question.text);
  for (let at = hash === null ? -1 : names.indexOf(hash); at >= 0 && names[at] === hash; at++)
    ranks.set(namedRows[at], Math.max(nameRanks[at], ranks.get(namedRows[at]) ?? 0));
  return Int8Array.from(rows, (row) => ranks.get(row) ?? 0);
}
