/* Shows the best lines of a section, with the matching words marked. */

import { directionOf, h } from "./ui.js";

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const FENCE = /^(?:`{3,}|~{3,})/;
export const ITEM = /^\s*(?:…\s+)?(?:[-*+]|(\d+)[.)])\s+(?:\[([ x])\]\s+)?/; // [x] is a done task
const DEFINITION = /^\s*(?:…\s+)?:\s+/;
const RULE = /^[\s|:…-]*$/;
const OPENING = /^\W*\w[\w.-]*[^\w.-]*[:({[]\s*$/; // one word and the sign after it
const lettersOfLine = () => (innerWidth < 600 ? 40 : 80);

/** Converts to lower case without accents. Offsets stay valid. */
export function fold(text) {
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return text;
  return lower.replace(/[^\x00-\x7f]/gu, (letter) => {
    const plain = letter.normalize("NFD").replace(/\p{M}/gu, "");
    return plain.length === letter.length ? plain : letter;
  });
}

/** Returns the folded words of a text without the signs between them. */
export const plain = (text) => (fold(text).match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");

/** Returns whether a section has no text below its heading: its content, or another `text`, is the heading. */
export function isBare({ content, heading_hierarchy: headings }, text = content) {
  const name = plain(headings.at(-1) ?? "");
  return !!name && name === plain(text);
}

/** Returns whether two names differ at most in case, accents, hyphens and spaces. */
export const sameName = (one, other) => spaced(one) === spaced(other);
const spaced = (text) => fold(text).replace(/[\s_-]+/g, " ").trim();

/** Returns the words that the engine marked. */
export function wordsOf(sections) {
  const marked = ({ excerpt, highlights }) => highlights.map(([from, to]) => excerpt.slice(from, to).toLowerCase());
  return [...new Set(sections.flatMap(marked))];
}

/** Returns whether two words seem to share a stem: whether they begin with the same letters. */
export function akin(one, other) {
  const length = Math.max(3, Math.min(one.length, other.length) - 2);
  return one.slice(0, length) === other.slice(0, length);
}

export const isWord = (letter) => /[\p{L}\p{N}_]/u.test(letter ?? "");

/** Returns the offsets at which `term` begins a word. */
export function occurrences(folded, term) {
  const found = [];
  for (let at = folded.indexOf(term); at >= 0 && found.length < 8; at = folded.indexOf(term, at + term.length))
    if (UNSPACED.test(term) || !isWord(folded[at - 1])) found.push(at);
  return found;
}

/** Returns sorted, disjoint `[start, end)`: words that begin with a term, or are it if it has up to three letters. */
export function marksIn(text, terms) {
  const folded = fold(text);
  const marks = (term) => occurrences(folded, fold(term)).map((at) => [at, endIn(folded, at + term.length)]);
  const isLong = (term) => term.length > 3 || UNSPACED.test(term);
  return terms
    .flatMap((term) => marks(term).filter(([start, end]) => isLong(term) || end === start + term.length))
    .sort((a, b) => a[0] - b[0] || b[1] - a[1])
    .filter(([start], index, all) => !index || start >= all[index - 1][1]);
}

/** Moves an end inside a word to the end of the word, as the engines mark whole words. */
function endIn(text, end) {
  if (!UNSPACED.test(text[end - 1])) while (isWord(text[end]) && !UNSPACED.test(text[end])) end += 1;
  return end;
}

/** Writes text[start, end) with the highlights in <mark>. */
function write(parent, text, highlights, start = 0, end = text.length) {
  for (const [from, to] of highlights) {
    const [left, right] = [Math.max(from, start), Math.min(to, end)];
    if (left >= right) continue;
    parent.append(text.slice(start, left), h("mark", {}, text.slice(left, right)));
    start = right;
  }
  parent.append(text.slice(start, Math.max(start, end)));
}

/** Writes text[start, end) with the highlights in <mark> and `code spans` in <code>. */
function writeInline(parent, text, highlights, start, end) {
  let at = start;
  for (const { index, 0: span, 1: ticks } of text.slice(start, end).matchAll(/(`+)[^`]+\1/g)) {
    const code = h("code", { dir: "ltr" });
    const from = start + index;
    write(parent, text, highlights, at, from);
    at = from + span.length;
    write(code, text, highlights, from + ticks.length, at - ticks.length);
    parent.append(code);
  }
  write(parent, text, highlights, at, end);
  return parent;
}

/** Writes text[start, end) in its own direction. */
export const writeLine = (text, highlights, start, end) =>
  writeInline(h("bdi", { dir: directionOf(proseOf(text.slice(start, end))) }), text, highlights, start, end);

/** Returns a text without its `code spans`. */
const proseOf = (text) => text.replace(/(`+)[^`]+\1/g, " ");

/** Returns the direction of the lines that are not code. */
export const directionOfLines = (lines) =>
  directionOf(lines.map(({ type, line }) => (type === "code" ? "" : proseOf(line))).join(" "));

/** Returns the names in a question that are not plain words: `app_name`, `appName`, `--all`. */
export const namesIn = (query) =>
  query
    .split(/[\s`"'()]+/)
    .map((word) => word.replace(/[.,:;?!]+$/, ""))
    .filter((word) => /[^\p{L}]|\p{Ll}\p{Lu}/u.test(word))
    .map((word) => word.toLowerCase());

/** Renders `space` lines around the one with a name of the question, or with the most marked words. */
export function renderExcerpt({ excerpt: text, highlights }, space, names = []) {
  const fitting = fittingLines(linesOf(text, highlights, names), space);
  const root = h("div.ss-excerpt", { dir: directionOfLines(fitting) });
  for (const { type, ranges } of blocksOf(fitting)) {
    if (type === "code") root.append(renderCode(text, highlights, ranges));
    else root.append(...ranges.map((range) => renderLine(text, highlights, type, range)));
  }
  return root;
}

function fittingLines(all, space) {
  const lines = all.filter(({ type, line }) => type && line.trim());
  const best = lines.reduce((found, { weight }, index) => (weight > lines[found].weight ? index : found), 0);
  const has = (index, type) => lines[index]?.type === type;
  // Of a table the best row is shown; with its first row, which has the names of the columns, the second one too.
  const isHeader = has(best, "table") && !has(best - 1, "table");
  const isTerm = has(best, "dt");
  const shown = lines
    .filter(({ type }, index) => type !== "table" || index === best || (isHeader && index === best + 1))
    .filter((line, index, all) => line === lines[best] || !isFileName(line, all[index + 1]))
    .filter((line, index, all) => has(best, "code") || !isFrame(line, all[index + 1]));
  if (space > 1) makeRoom(shown);
  const roomOf = (some) => some.reduce((sum, { room }) => sum + room, 0);
  const at = shown.indexOf(lines[best]); // -1 in a text without words
  const end = at + (isHeader || isTerm ? 2 : 1);
  let first = 0;
  while (first < at && (roomOf(shown.slice(first, end)) > space || isBracket(shown[first]))) first += 1;
  const fitting = [];
  for (const line of shown.slice(first)) if (roomOf(fitting) < space) fitting.push(line);
  return fitting;
}

/** Returns whether a line of code says less than the next one: `---`, or `theme:`, which only opens a block. */
const isFrame = (shown, next) =>
  shown.type === "code" && next?.type === "code" && (isBracket(shown) || OPENING.test(shown.line));

/** Returns whether a line of code has signs only, such as the bracket that ends what stands above. */
const isBracket = ({ type, line }) => type === "code" && !/[\p{L}\p{N}]/u.test(line);

/** Gives one line to a text that introduces the next one, to a term and to its definition. */
function makeRoom(lines) {
  const shorten = (...some) => some.forEach((one) => Object.assign(one, { type: "lead", room: 1 }));
  lines.slice(0, -1).forEach((one, index) => {
    if (one.type === "text" && /[:：]\s*$/.test(one.line)) shorten(one);
    if (one.type === "dt") shorten(one, lines[index + 1]);
  });
}

/** Returns whether a line is the file name of the code below it, which leaves its room to the code. */
const isFileName = ({ type, line }, next) => type === "text" && next?.type === "code" && /^\S+$/.test(line);

/** Renders lines of code as one block, without the indentation that they all have. */
export function renderCode(text, highlights, ranges) {
  const indents = ranges.map(([start, end]) => text.slice(start, end).search(/\S/)).filter((indent) => indent >= 0);
  const code = h("code");
  ranges.forEach(([start, end], index) => {
    if (index) code.append("\n");
    write(code, text, highlights, Math.min(start + Math.min(...indents), end), end);
  });
  return h("pre", { dir: "ltr" }, code);
}

function renderLine(text, highlights, type, [start, end]) {
  if (type === "table") return h("p", {}, cellsOf(text, highlights, [start, end], "span.ss-cell"));
  const [sign, , task] = (type === "ul" && ITEM.exec(text.slice(start, end))) || [""];
  start += sign.length;
  // If the first mark would not be seen, the line begins a few words before it, but not inside a code span.
  const [at] = highlights.find(([from, to]) => from >= start && to <= end) ?? [];
  const isLate = at > start + 1.5 * lettersOfLine();
  const [left] = (isLate && /^([^`]|(`+)[^`]+\2)*\s/.exec(text.slice(start, at - 30))) || [""];
  const line = writeLine(text, highlights, start + left.length, end);
  return h(type === "lead" ? "p.ss-lead" : "p", {}, sign && !task && "• ", task && boxOf(task), left && "… ", line);
}

/**
 * Describes lines as {type, line, range, room: lines on screen, weight: different marked words}. A longer form of a marked word,
 * such as the completion of a name, is that word, and one of the `names` weighs more than all other words.
 */
export function linesOf(text, highlights, names = []) {
  const all = wordsOf([{ excerpt: text, highlights }]);
  const words = all.filter((word) => !all.some((other) => other !== word && word.startsWith(other)));
  const letters = lettersOfLine();
  let start = 0;
  let open = ""; // the fence above the lines of code
  const lines = text.split("\n").map((line) => {
    const range = [start, start + line.length];
    const [mark] = FENCE.exec(line) ?? [""];
    const fence = open ? mark.startsWith(open) && !/[^`~\s]/.test(line) : mark;
    const type = fence ? "" : open ? "code" : typeOf(line);
    const inside = highlights.filter(([from, to]) => from >= start && to <= range[1]);
    const marked = wordsOf([{ excerpt: text, highlights: inside }]);
    const isNamed = marked.some((one) => names.includes(one));
    const weight = words.filter((word) => marked.some((one) => one.startsWith(word))).length + isNamed * text.length;
    if (fence) open = open ? "" : mark;
    start = range[1] + 1;
    if (type === "dd") range[0] += DEFINITION.exec(line)[0].length;
    return { type, line: text.slice(...range), range, weight, room: type && Math.ceil(line.length / letters) };
  });
  // The lines above a definition are its terms; those of a second paragraph are indented.
  lines.reduceRight((below, one) => {
    if (one.type === "text" && /^d[dt]$/.test(below) && /^\S/.test(one.line)) one.type = "dt";
    return one.type;
  }, "");
  return lines;
}

function typeOf(line) {
  if (RULE.test(line)) return "";
  if (DEFINITION.test(line)) return "dd";
  if (/^\s*(?:…\s*)?\|.*(?:\||…$)/.test(line)) return "table";
  const item = ITEM.exec(line);
  return item ? (item[1] ? "ol" : "ul") : "text";
}

/** Groups neighbouring lines of one type. */
export function blocksOf(lines) {
  const blocks = [];
  for (const { type, range } of lines) {
    if (blocks.at(-1)?.type === type) blocks.at(-1).ranges.push(range);
    else blocks.push({ type, ranges: [range] });
  }
  return blocks.filter(({ type }) => type);
}

/** Returns the check box of an item that is a task. */
export const boxOf = (task) => (task === "x" ? "☑ " : "☐ ");

export function cellsOf(text, highlights, [start, end], selector) {
  const cells = [...text.slice(start, end).matchAll(/\|\s*((?:`[^`]*`|\\\||[^|])*?)\s*(?=\||$)/g)];
  return cells
    .map((match) => [start + match.index + match[0].indexOf(match[1], 1), match[1].length])
    .filter(([from, length], index) => length || index < cells.length - 1)
    .map(([from, length]) => h(selector, {}, writeLine(text, highlights, from, from + length)));
}

/** Shows a name in its own direction, with the terms marked. */
export function marked(text = "", terms = []) {
  const element = h("bdi", { dir: directionOf(text) });
  write(element, text, marksIn(text, terms));
  return element;
}
