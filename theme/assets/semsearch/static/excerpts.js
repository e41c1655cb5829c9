/* Cuts the piece of a chunk that shows why it is a result. See searching/excerpts.py; offsets are code points as there. */

import { isAscii, prepare } from "./text.js";

const MAX_CHARACTERS = 320;
const WORD = /[\p{L}\p{N}_]+/gu;
const FENCE = /^((`{3,}|~{3,})[^\n]*)(?:\n|(?![^]))([^]*?)(?:^\2[`~]*[ \t]*$|(?![^]))/gm;
const CODE_SPAN = /`[^`\n]{1,80}`/g;
const SENTENCE_END = /(?<=[.!?。！？])\s+|\n/g;

/** Cuts the piece with the most different words of the question, in whole blocks if they fit. */
export function makeExcerpt(content, matcher) {
  const { text: single, restored } = withoutPairs(content);
  const blocks = blocksOf(single, matcher);
  if (!blocks.length) return { excerpt: "", highlights: [] };
  const best = blocks.reduce((found, block) => (isBetter(block, found) ? block : found));
  let { text, highlights } = cut(best);
  for (const block of blocks.slice(blocks.indexOf(best) + 1)) {
    if (text.length + block.text.length + 2 > MAX_CHARACTERS) break;
    const offset = text.length + 2;
    text = `${text}\n\n${block.text}`;
    highlights = highlights.concat(block.found.map(({ start, end }) => [start + offset, end + offset]));
  }
  return { excerpt: restored(text), highlights };
}

/** Text in which every character is one unit: others are replaced by private ones, and put back by `restored`. */
function withoutPairs(content) {
  const wide = [...new Set(content.match(/[\ud800-\udbff][\udc00-\udfff]/g))];
  if (!wide.length) return { text: content, restored: (text) => text };
  let next = 0xe000;
  const unused = () => {
    while (content.includes(String.fromCharCode(next))) next += 1;
    return String.fromCharCode(next++);
  };
  const standIns = new Map(wide.map((character) => [character, unused()]));
  const originals = new Map([...standIns].map(([character, standIn]) => [standIn, character]));
  return {
    text: content.replace(/[\ud800-\udbff][\udc00-\udfff]/g, (character) => standIns.get(character)),
    restored: (text) => text.replace(/[\ue000-\uf8ff]/g, (standIn) => originals.get(standIn) ?? standIn),
  };
}

function isBetter(block, other) {
  const [here, there] = [block, other].map(({ found }) => new Set(found.flatMap(({ stems }) => stems)).size);
  return here > there || (here === there && !block.fenced && other.fenced);
}

function blocksOf(content, matcher) {
  const blocks = [];
  const addProse = (prose) => {
    for (const piece of prose.split(/\n{2,}/)) {
      if (!piece.trim()) continue;
      const text = piece.replace(/^\n+|\n+$/g, "");
      blocks.push({ text, fenced: false, found: matches(text, 0, matcher) });
    }
  };
  let position = 0;
  for (const match of content.matchAll(FENCE)) {
    const [whole, open, mark] = match;
    addProse(content.slice(position, match.index));
    position = match.index + whole.length;
    const code = match[3].replace(/\n$/, "");
    // The fence is closed even where the chunk ends inside the code.
    const text = `${open}\n${code}\n${mark}`;
    if (code.trim()) blocks.push({ text, fenced: true, found: matches(code, open.length + 1, matcher) });
  }
  addProse(content.slice(position));
  return blocks;
}

/** Finds the words of the question, [{start, end, stems}]; in scripts without spaces, the pieces of a run that match. */
function matches(text, offset, matcher) {
  const found = [];
  for (const { 0: word, index } of text.matchAll(WORD)) {
    let last = null;
    for (const [begin, end] of piecesOf(word)) {
      const stems = matcher.stemsIn(word.slice(begin, end));
      if (!stems.length) continue;
      const here = { start: index + offset + begin, end: index + offset + end, stems };
      if (last && here.start < last.end) Object.assign(last, { end: here.end, stems: [...last.stems, ...stems] });
      else found.push((last = here));
    }
  }
  return found;
}

/** Returns the ranges of the terms of a word: overlapping pairs in scripts without spaces, else words. */
function piecesOf(word) {
  if (isAscii(word) || prepare(word) === word) return [[0, word.length]];
  const pieces = [];
  for (let begin = 0, end = 0; begin < word.length; begin = end) {
    const isUnspaced = (place) => prepare(word[place]) !== word[place];
    const unspaced = isUnspaced(begin);
    for (end = begin + 1; end < word.length && isUnspaced(end) === unspaced;) end += 1;
    if (!unspaced || end - begin === 1) pieces.push([begin, end]);
    else for (let place = begin; place < end - 1; place++) pieces.push([place, place + 2]);
  }
  return pieces;
}

function cut(block) {
  if (block.text.length <= MAX_CHARACTERS)
    return { text: block.text, highlights: block.found.map(({ start, end }) => [start, end]) };
  return block.fenced ? cutCode(block) : cutProse(block);
}

/** Cuts whole lines from the first match on, inside the block's fence; a very long line is cut. */
function cutCode({ text, found }) {
  const [fence, ...lines] = text.split("\n");
  const closing = lines.pop();
  const [match] = found;
  const first = match ? text.slice(0, match.start).split("\n").length - 2 : 0;
  let begin = lines.slice(0, first).reduce((sum, line) => sum + line.length + 1, fence.length + 1);
  let end = begin + lines[first].length;
  if (lines[first].length > MAX_CHARACTERS) {
    if (match && match.end - begin > MAX_CHARACTERS) begin = match.start - MAX_CHARACTERS / 4;
    end = Math.min(end, begin + MAX_CHARACTERS);
  } else {
    for (const line of lines.slice(first + 1)) {
      if (end + 1 + line.length - begin > MAX_CHARACTERS) break;
      end += 1 + line.length;
    }
  }
  const kept = text.slice(begin, end);
  return { text: `${fence}\n${kept}\n${closing}`, highlights: moved(found, begin, end - begin, fence.length + 1) };
}

/** Cuts the window with the most different words; it starts at the beginning of a sentence if one is near. */
function cutProse({ text, found }) {
  const window = windowStart(found);
  const sentences = [0, ...[...text.matchAll(SENTENCE_END)].map(({ 0: gap, index }) => index + gap.length)];
  let begin = Math.max(...sentences.filter((place) => place <= window));
  if (found.length && window - begin > MAX_CHARACTERS / 2) begin = wordStart(text, window - MAX_CHARACTERS / 4);
  begin = beforeCode(text, begin);
  const end = beforeCode(text, wordEnd(text, begin + MAX_CHARACTERS));
  const before = begin ? "… " : "";
  const kept = text.slice(begin, end).trimEnd();
  return {
    text: before + kept + (end < text.length ? " …" : ""),
    highlights: moved(found, begin, kept.length, before.length),
  };
}

/** Moves a position inside inline code to the start of that code. */
function beforeCode(text, place) {
  const inside = ({ 0: span, index }) => index < place && place < index + span.length;
  return [...text.matchAll(CODE_SPAN)].find(inside)?.index ?? place;
}

/** Returns the start of the window with the most different stems; the first one wins a tie. */
function windowStart(found) {
  let [best, bestStart] = [0, 0];
  found.forEach(({ start }, at) => {
    const inside = found.slice(at).filter(({ end }) => end <= start + MAX_CHARACTERS);
    const { size } = new Set(inside.flatMap(({ stems }) => stems));
    if (size > best) [best, bestStart] = [size, start];
  });
  return bestStart;
}

const moved = (found, begin, length, shift) =>
  found
    .map(({ start, end }) => [start - begin, end - begin])
    .filter(([start, end]) => start >= 0 && end <= length)
    .map(([start, end]) => [start + shift, end + shift]);

function wordStart(text, position) {
  const space = text.indexOf(" ", position);
  return space >= 0 && space < position + 40 ? space + 1 : position;
}

function wordEnd(text, position) {
  if (position >= text.length) return text.length;
  const space = text.lastIndexOf(" ", position - 1);
  return space > 0 && space >= position - 40 ? space : position;
}
