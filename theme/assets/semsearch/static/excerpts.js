/* Cuts the piece of a chunk that shows why it is a result. See searching/excerpts.py; offsets are code points as there. */

import { IN_PAIRS, isAscii } from "./text.js";

const MAX_CHARACTERS = 320;
const WORD = /(?:[\p{L}\p{N}_]|(?![\ufe00-\ufe0f])\p{M})+/gu;
const FENCE = /^((`{3,}|~{3,})[^\n]*)(?:\n|(?![^]))([^]*?)(?:^\2[`~]*[ \t]*$|(?![^]))/gm;
export const COLON_AT_END = /[:：](?:\n[`~]{3,})?$/; // of a text, or of the code at its end
const LEAST_BEGINNING = 120; // characters that are shown of the beginning of a block
const LONGEST_UNCUT = 80; // a word or inline code of this length is left out rather than cut
const CODE_SPAN = /`[^`\n]+`/g;
const SENTENCE_END = /(?<=[.!?。！？])(?<!\.[A-Za-z]\.)\s+|\n[ \t]*/g; // not after `e.g.`
const BARS = /\n\|[\s|]*$/; // those of a row of which nothing else is left
const UNDIVIDED = /^(?:\||[ \t]*[0-9]+\.$)/;

/** Cuts the piece with the most different words of the question, in whole blocks if they fit. */
export function makeExcerpt({ text, introduced }, matcher) {
  const { texts: [single, next], restored } = withoutPairs(text, introduced);
  const reader = { ...matcher, stemsIn: (word) => matcher.stemsIn(restored(word)) };
  const blocks = blocksOf(single, reader);
  if (!blocks.length) return { excerpt: "", highlights: [] };
  const best = blocks.reduce((found, block) => (isBetter(block, found) ? block : found));
  const at = blocks.indexOf(best);
  const following = [...blocks.slice(at + 1), ...blocksOf(next, reader)];
  let found = withLead(best, blocks[at - 1]);
  while (following.length && found.text.length + following[0].text.length + 2 <= MAX_CHARACTERS)
    found = joined(found, whole(following.shift()));
  const room = MAX_CHARACTERS - found.text.length - 2;
  // Of a block that is announced, the beginning is shown even if there is little room.
  if (following.length && (room >= LEAST_BEGINNING || introduces(found.text, following[0])))
    found = joined(found, beginning(following[0], Math.max(room, LEAST_BEGINNING)));
  return { excerpt: restored(found.text), highlights: found.highlights };
}

/** Cuts a block. The text that announces it goes before its beginning if this leaves out no word that matches. */
function withLead(block, lead) {
  const found = cut(block);
  if (!lead || lead.fenced || !introduces(lead.text, block)) return found;
  const room = MAX_CHARACTERS - lead.text.length - 2;
  if (room < LEAST_BEGINNING) return found;
  const first = beginning(block, room);
  return first.highlights.length < found.highlights.length ? found : joined(whole(lead), first);
}

/** Returns whether a text announces the next block: it ends with a colon, or with the file name of code. */
const introduces = (text, { fenced }) => COLON_AT_END.test(text) || (fenced && /(?:^|\n\n)[^ \t\n]{1,60}$/.test(text));

const whole = ({ text, found }) => ({ text, highlights: found.map(({ start, end }) => [start, end]) });

function joined({ text, highlights }, following) {
  const offset = text.length + 2;
  const others = following.highlights.map(([start, end]) => [start + offset, end + offset]);
  return { text: `${text}\n\n${following.text}`, highlights: [...highlights, ...others] };
}

/** Keeps the first lines of a block, or of a long line its first words. */
function beginning(block, room) {
  const { text, fenced, found } = block;
  if (fenced) return cutCode(block, 0, room);
  if (text.length <= room) return whole(block);
  const end = text.lastIndexOf("\n", room);
  return end > 0 ? { text: `${text.slice(0, end)}\n…`, highlights: moved(found, 0, end, 0) } : proseFrom(block, 0, room);
}

/**
 * Replaces each character of two UTF-16 units by one of a single unit that the texts do not have: a letter by a letter
 * (from U+A000), another one by a private character. `restored` puts them back.
 */
function withoutPairs(...texts) {
  const all = texts.join("");
  const wide = [...new Set(all.match(/[\ud800-\udbff][\udc00-\udfff]/g))];
  if (!wide.length) return { texts, restored: (text) => text };
  const used = new Set(all);
  const unused = (character) => {
    let code = /[\p{L}\p{N}]/u.test(character) ? 0xa000 : 0xe000;
    while (used.has(String.fromCharCode(code))) code += 1;
    used.add(String.fromCharCode(code));
    return String.fromCharCode(code);
  };
  const standIns = new Map(wide.map((character) => [character, unused(character)]));
  const originals = new Map([...standIns].map(([character, standIn]) => [standIn, character]));
  const replaced = (text) => text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, (character) => standIns.get(character));
  return {
    texts: texts.map(replaced),
    restored: (text) => text.replace(/[^\x00-\x7f]/g, (letter) => originals.get(letter) ?? letter),
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
    const code = match[3].replace(/^\n+|\n+$/g, "");
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
      const [from, to] = withMarks(word, begin, end);
      const here = { start: index + offset + from, end: index + offset + to, stems };
      if (last && here.start < last.end) Object.assign(last, { end: here.end, stems: [...last.stems, ...stems] });
      else found.push((last = here));
    }
  }
  return withIdentifiers(found, text, offset, matcher.whole);
}

/** Extends a range in a word, so that no edge is between a letter and its marks; Thai letters have up to two. */
function withMarks(word, begin, end) {
  const isMark = (at) => /\p{M}/u.test(word[at] ?? "");
  while (begin && isMark(begin)) begin -= 1;
  while (isMark(end)) end += 1;
  return [begin, end];
}

/** Adds the identifiers of the question that a text has as a whole; what matches inside of them is part of them. */
function withIdentifiers(found, text, offset, pattern) {
  if (!pattern) return found;
  for (const match of text.matchAll(pattern)) {
    const [start, end] = [match.index + offset, match.index + offset + match[0].length];
    const isInside = (part) => start <= part.start && part.end <= end;
    const name = `#${match.slice(1).findIndex((group) => group !== undefined)}`;
    const stems = [name, ...found.filter(isInside).flatMap((part) => part.stems)];
    found = [...found.filter((part) => !isInside(part)), { start, end, stems }];
  }
  return found.sort((a, b) => a.start - b.start);
}

/** Returns the ranges of the terms of a word: overlapping pairs in scripts without spaces, else words. */
function piecesOf(word) {
  const pieces = [];
  let begin = 0;
  for (const { 0: run, index } of isAscii(word) ? [] : word.matchAll(IN_PAIRS)) {
    const end = index + run.length;
    if (begin < index) pieces.push([begin, index]);
    for (let place = index; place < Math.max(index + 1, end - 1); place++) pieces.push([place, Math.min(place + 2, end)]);
    begin = end;
  }
  if (begin < word.length) pieces.push([begin, word.length]);
  return pieces;
}

function cut(block) {
  const { text, fenced, found } = block;
  if (text.length <= MAX_CHARACTERS) return whole(block);
  if (!fenced) return cutProse(block);
  const first = found.length ? text.slice(0, windowStartInCode(found)).split("\n").length - 2 : 0;
  return cutCode(block, first, MAX_CHARACTERS);
}

/** Returns the start of the window with the most different stems, without words that are parts of an identifier in it. */
function windowStartInCode(found) {
  const window = windowStart(found);
  const inside = found.filter(({ start, end }) => window <= start && end <= window + MAX_CHARACTERS);
  const isPart = ({ stems }, { stems: others }) =>
    new Set(stems).size < new Set(others).size && stems.every((stem) => others.includes(stem));
  const first = inside.find((match, at) => !inside.slice(at + 1).some((other) => isPart(match, other)));
  return first ? first.start : window;
}

/** Cuts whole lines from a line on, inside the block's fence; a line that is too long is cut. */
function cutCode({ text, found }, first, room) {
  const [fence, ...lines] = text.split("\n");
  const closing = lines.pop();
  let begin = lines.slice(0, first).reduce((sum, line) => sum + line.length + 1, fence.length + 1);
  let end = begin + lines[first].length;
  if (lines[first].length > room) {
    const match = found.find(({ start }) => start >= begin);
    if (match && begin + room < match.end && match.end <= end) begin = match.start - Math.floor(room / 4);
    end = Math.min(end, begin + room);
  } else {
    for (const line of lines.slice(first + 1)) {
      if (end + 1 + line.length - begin > room) break;
      end += 1 + line.length;
    }
  }
  const kept = text.slice(begin, end).replace(/\n+$/, "");
  return { text: `${fence}\n${kept}\n${closing}`, highlights: moved(found, begin, kept.length, fence.length + 1) };
}

/** Cuts the window with the most different words; it starts at the beginning of a sentence if one is near. */
function cutProse(block) {
  const { text, found } = block;
  const window = windowStart(found);
  let begin = Math.max(...sentenceStarts(text).filter((place) => place <= window));
  if (found.length && window - begin > MAX_CHARACTERS / 2) begin = wordStart(text, window - MAX_CHARACTERS / 4);
  return proseFrom(block, begin);
}

/** Returns where sentences and lines begin, but no place inside a row of a table or after the number of an item. */
function sentenceStarts(text) {
  const ends = [...text.matchAll(SENTENCE_END)].filter(
    ({ 0: gap, index }) => gap.includes("\n") || !UNDIVIDED.test(text.slice(text.lastIndexOf("\n", index - 1) + 1, index)),
  );
  return [0, ...ends.map(({ 0: gap, index }) => index + gap.length)];
}

function proseFrom({ text, found }, place, room = MAX_CHARACTERS) {
  const begin = beforeCode(text, place);
  const end = beforeCode(text, wordEnd(text, begin + room));
  const before = begin ? "… " : "";
  let kept = text.slice(begin, end).trimEnd();
  if (end < text.length) kept = kept.replace(BARS, "");
  return {
    text: before + kept + (end < text.length ? " …" : ""),
    highlights: moved(found, begin, kept.length, before.length),
  };
}

/** Moves a position inside inline code to the start of that code. */
function beforeCode(text, place) {
  const inside = ({ 0: span, index }) =>
    index < place && place < index + span.length && span.length <= LONGEST_UNCUT;
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
  return space > 0 && space >= position - LONGEST_UNCUT ? space : position;
}
