/* Turns text into words, identifiers and names, as lexical/analyzers.py, lexical/question.py and static/format.py do. */

const LONGEST = 120;

// Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: a run of these is a phrase, not a word.
const UNSPACED =
  "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff";
const UNSPACED_RUN = new RegExp(`[${UNSPACED}]+`, "g");
export const IN_PAIRS = new RegExp(`[${UNSPACED}\\uff01-\\uff9f]+`, "g");
const SCRIPTS_MEET = new RegExp(`(?<=[${UNSPACED}])(?=[A-Za-z0-9_<(\`])|(?<=[A-Za-z0-9_>)\`])(?=[${UNSPACED}])`, "g");
// Variation selectors, and marks outside the BMP: they are not in COMBINING_MARKS of lexical/analyzers.py either.
const NO_MARK = "[\\ufe00-\\ufe0f]|(?=[\\u{10000}-\\u{10ffff}])\\p{M}";
const WORD = new RegExp(`(?:[\\p{L}\\p{N}]|(?!${NO_MARK})\\p{M})+`, "gu");
const FOLDED = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", þ: "th", ł: "l", ı: "i", ς: "σ", ٱ: "ا", ى: "ي", ة: "ه", ی: "ي", ک: "ك", ə: "e" };

const MARKS =
  /([a-zα-ω])[\u0300-\u036f]+|(е)\u0308|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]/g;

// Accents that have no letter of their own, and marks of Indian scripts at which a word would be divided.
const LOOSE_MARKS =
  /[\u0300-\u036f\u093c\u094d\u0951-\u0954\u09bc\u09cd\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0c4d\u0cbc\u0ccd\u0d3b\u0d3c\u0d4d\u0dca][\u200c\u200d]?|\u200d/g;
const ARTICLE = /^[وف]?(?:ال|بال|كال|لل)(?=[\u0621-\u064a]{3})/; // the Arabic one, with its prefixes

const EDGE_START = /^["'`([{,;:!?*“”„‘’‚«»‹›…¿¡؟،؛।։＂？！，。、：；（）「」『』【】《》〈〉]+/;
const EDGE_END = /["'`)\]},;:!?.*“”„‘’‚«»‹›…¿¡؟،؛।։＂？！，。、：；（）「」『』【】《》〈〉]+$/;
const PHRASE =
  /"([^"]+)"|“([^“”]+)”|„([^„“”"]+)[“”"]|«([^«»]+)»|”([^“”]+)”|»([^«»]+)«|＂([^＂]+)＂|「([^「」]+)」|『([^『』]+)』/g;

const IDENTIFIER =
  /[\p{L}\p{N}][._\-/:#@\\][\p{L}\p{N}]|_|[a-z][A-Z]|[A-Z]{2}[a-z]|^[-/@<$.~]|[A-Za-z]\p{Nd}|\p{Nd}[A-Za-z]|\(\)$|::|>$|^[A-Za-z](?:\+\+|#)$/u;
const OPERATOR = /^["'`(“„‘«]*((?!.*(.)\2\2)[!#$%&*+\-./:<=>?@[\\\]^{|}~]{2,4}?)["'`)”’»]*[.,;:!?]*$/;
const LONGEST_OPERATOR = 12;
const NO_PUNCTUATION = /[#$%&*+/<=>@[\\\]^{|}~]|::/;
const VERSION = /^v(?=[0-9]+\.[0-9])/;
const AROUND_IDENTIFIER = /^[-<>/@$.~=({#]+|[-<>/@$.~=({#]+$/g;
const AROUND_NAMES = /[^\p{L}\p{N}_.\-]+/u;
const INNER_NAME = /_[\p{L}\p{N}]|[a-z][A-Z]|^--[\p{L}\p{N}]/u;
const IN_PARTS = /^(?:(?!\p{Nd})[\p{L}\p{N}])[\p{L}\p{N}]*(?:[-_][\p{L}\p{N}]+|\.(?:(?!\p{Nd})[\p{L}\p{N}]){2,3})?$/u;
const SHORTEST_JOINED = 5;
const SEPARATORS = new RegExp(`(?:[^\\p{L}\\p{N}\\p{M}_]|${NO_MARK})+|_+`, "u");
const CAMEL = new RegExp(`[A-Z]+(?=[A-Z][a-z])|[A-Z]?(?:(?![A-Z]|${NO_MARK})[\\p{L}\\p{M}\\p{Nl}\\p{No}])+|[A-Z]+|\\p{Nd}+`, "gu");

export const isAscii = (text) => /^[\x00-\x7f]*$/.test(text);

const isTooLong = (text) => text.length > LONGEST && [...text].length > LONGEST;

/** Turns runs of scripts without spaces into overlapping pairs. Letters, kana and digits get their usual form. */
export function prepare(text) {
  const usual = text.replace(/[\uff01-\uff9f]+/g, (run) => run.normalize("NFKC"));
  const plain = usual.replace(/[٠-٩۰-۹]/g, (digit) => digit.charCodeAt(0) & 15).replaceAll("ʼ", "'");
  return plain.normalize("NFC").replace(LOOSE_MARKS, "").replace(UNSPACED_RUN, (run) => {
    const pairs = Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2));
    return ` ${run.length > 1 ? pairs.join(" ") : run} `;
  });
}

/** Returns the words of a text in lower case and without the accents of Latin letters. */
export const termsOf = (text) => (prepare(text).match(WORD) ?? []).map(fold).filter((word) => word && !isTooLong(word));

function fold(word) {
  const lower = word.toLowerCase();
  if (isAscii(lower)) return lower;
  const bare = lower.normalize("NFD").replace(MARKS, "$1$2");
  const folded = bare.normalize("NFC").replace(/[ßæœøđðþłıςٱىةیکə]/g, (letter) => FOLDED[letter]);
  return folded.replace(ARTICLE, "");
}

/** Returns a term with the accents that it has in the texts, in lower case; the term if it has none there. */
export function asWritten(term, texts) {
  const foreign = texts.flatMap(rawWords).filter((word) => !isAscii(word));
  const isTerm = (word) => termsOf(word).join(" ") === term;
  return foreign.find(isTerm)?.toLowerCase() ?? term;
}

const MAX_WORDS = 64;
const inside = (groups) => (groups.slice(0, 9).find(Boolean) ?? "").trim();

/**
 * Reads a question as far as possible without an index: its text without quotation marks, its words, and the phrase
 * that must occur if the whole question is in double quotes. Invisible characters inside words are left out, as in the
 * index.
 */
export function readQuestion(typed) {
  const visible = typed.replace(/[\u00ad\u200b\u2060\ufeff]/g, "");
  const text = visible.trim() ? visible : typed;
  const bare = tellingLines(text).replace(PHRASE, (_, ...groups) => ` ${inside(groups)} `);
  const plain = bare.split(/\s+/).filter(Boolean).join(" ") || text.trim();
  const [whole] = text.trim().matchAll(PHRASE);
  const phrase = whole && whole[0] === text.trim() && inside(whole.slice(1));
  const phrases = phrase && /[\p{L}\p{N}]/u.test(phrase) ? [phrase] : [];
  const asked = withoutMarker(plain);
  const words = mostTelling(spokenWords(asked));
  return { text: plain, words, phrases, telling: words, embedded: asked };
}

const MARKERS = "bug(?: report)?|question|feature(?: request)?|enhancement|help";
const MARKER = new RegExp(`^ *(?:\\[ *(?:${MARKERS}|enh|fr|rfe) *\\] *:?|(?:${MARKERS}): )`, "i");

/** Leaves out the marker of an issue tracker in front: `[BUG]`, `Question:`, `feature request:`. */
function withoutMarker(text) {
  const asked = MARKER.test(text) ? text.replace(MARKER, "").trim() : "";
  return /[\p{L}\p{N}]/u.test(asked) ? asked : text;
}

/** Keeps at most MAX_WORDS words in their order: identifiers first, then the words that come first. */
function mostTelling(words) {
  if (words.length <= MAX_WORDS) return words;
  const places = [...new Set(words)].map((word) => words.indexOf(word));
  const plain = (place) => +!identifierForms(words[place]).length;
  const chosen = places.sort((a, b) => plain(a) - plain(b) || a - b).slice(0, MAX_WORDS);
  return chosen.sort((a, b) => a - b).map((place) => words[place]);
}

// Phrases that only mark a question (how, what is), in Chinese, Japanese and Korean.
const ASKING = new RegExp(
  "怎[么麼][样樣]?|怎[样樣]|如何|[什甚][么麼]是|是[什甚][么麼]|[为為][什甚][么麼]|[请請][问問]|[吗嗎]" +
    "|とは|何ですか|(?:いい|よい)?ですか|ますか|どうやって|どうすれば|どうしたら|なぜ|を?教えて(?:ください|下さい)?|について|(?<=[ぁ-ん])方法" +
    "|어떻게|무엇(?:인가요|입니까)|인가요|(?:하|있)?나요(?![가-힣])|합니까|입니까|하려면|해야(?![가-힣])|방법" +
    "|(?<=[가-힣])이란(?![가-힣])|(?<![가-힣])왜(?![가-힣])",
  "gu",
);

/** Leaves out phrases that only mark a question, unless the question has nothing else. */
function withoutAsking(text) {
  const asked = text.replace(ASKING, " ");
  return /[\p{L}\p{N}]/u.test(asked) ? asked : text;
}

/** Words of comparisons, which mean little without what is compared. See COMPARING in lexical/reading.py. */
export const COMPARING = new Set(["between", "compare", "compared", "difference", "differences", "different", "versus", "vs"]);

const LONG_TEXT = 400;
const ERROR =
  /^\s*(?:E\s+)?(?:[\p{L}\p{N}_.$]+(?:Error|Exception|Warning|Failure|Fault|Exit|Interrupt)(?![\p{L}\p{N}_])|(?:fatal|error|panic|caused by|critical|failed|thread \S+ panicked|FATA|ERRO|ERR!)(?![\p{L}\p{N}_]))/iu;
const FRAME =
  /^\s*(?:File ".*", line \d+|at [\p{L}\p{N}_.$<>]+\s?\(|Traceback \(most recent|During handling of the above|The above exception|[\^~]+\s*$|\.{3}|goroutine \d+|\d+: 0x|from .+:\d+:in)/u;
const DETAIL_LINES = 4;

/** Picks the relevant lines of a long pasted text: error lines, and the reader's own lines before them. */
export function tellingLines(text) {
  const lines = text
    .split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)
    .map((line) => line.trim())
    .filter(Boolean);
  if ([...text].length <= LONG_TEXT || lines.length < 3) return text;
  const errors = [...lines.keys()].filter((at) => ERROR.test(lines[at]));
  if (!errors.length) return text;
  const frame = lines.findIndex((line) => FRAME.test(line));
  const last = errors.at(-1);
  const details = lines.slice(last + 1, last + 1 + DETAIL_LINES).filter((line) => !FRAME.test(line));
  const before = lines.slice(0, frame < 0 ? errors[0] : frame).filter((line) => [...line].length <= LONG_TEXT);
  const others = errors.slice(0, -1).reverse().map((at) => lines[at]);
  const parts = [
    ...before.slice(0, DETAIL_LINES),
    lines[last],
    ...details,
    ...others.filter((line) => line !== lines[last]).slice(0, DETAIL_LINES),
  ];
  return [...new Set(parts)].join("\n");
}

/** Returns the operator of two to four signs in a token, without quotes and punctuation around it. */
const operator = (written) => (written.length > LONGEST_OPERATOR ? null : OPERATOR.exec(written)?.[1]);

/**
 * Splits a text at white space, and where scripts meet; removes the punctuation around each word. Operators are words;
 * what may be punctuation, such as `??`, only where there are no letters and digits.
 */
function rawWords(text) {
  const words = text.replace(SCRIPTS_MEET, " ").split(/\s+/);
  const hasWords = /[\p{L}\p{N}]/u.test(text);
  const bare = words.map((word) => {
    const signs = operator(word);
    if (signs && (!hasWords || NO_PUNCTUATION.test(signs))) return signs;
    return word.replace(EDGE_START, "").replace(EDGE_END, "");
  });
  // A call keeps its brackets: `app()` is the identifier `app`.
  return bare.filter(Boolean).map((word) => (word.endsWith("(") ? `${word})` : word));
}

// An article or the like without its vowel, before a word in French, Italian or Catalan.
const ELIDED =
  /^(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu|un|gl|quest|quell|(?:a|da|de|ne|su)ll)['’ʼ](?=[\p{L}\p{N}_]{3})/iu;

/** Returns the words of a question: `rawWords` as they are `spoken`, without phrases that only ask. */
export const spokenWords = (text) => rawWords(withoutAsking(text)).map(spoken);

/** Removes the shortened verb at the end of a word, and an elided article before it; `don't` becomes `dont`, a stop word. */
const spoken = (word) =>
  word
    .replace(/^([\p{L}\p{Nl}\p{No}]+n)['’ʼ](t)$/iu, "$1$2")
    .replace(/([\p{L}\p{N}_])['’ʼ](?:s|m|d|re|ve|ll)$/iu, "$1")
    .replace(ELIDED, "");

/** Returns the forms under which an identifier is indexed as a whole; none for a plain word. */
export function identifierForms(word) {
  if (isTooLong(word)) return [];
  if (!IDENTIFIER.test(word)) return operator(word) === word ? [word] : [];
  const names = namesIn(word);
  const dotted = names.map(bareName).filter((bare) => bare.includes(".") && !bare.includes("/"));
  const forms = [...names, ...dotted.map((bare) => bare.split(".").at(-1))];
  return [...new Set(forms)].filter((form) => [...form].length > 1);
}

/** Returns a name of one or two parts joined: `groupby` for `group_by`, `nodejs` for `Node.js`; null for others. */
export function joinedName(word) {
  const bare = bareName(word.toLowerCase());
  const joined = IN_PARTS.test(bare) ? bare.replace(/[-_.]/g, "") : "";
  return [...joined].length >= SHORTEST_JOINED ? joined : null;
}

/** Returns an identifier in lower case, and the names in it: `get_secret` of `get_secret("name")`. */
function namesIn(word) {
  const whole = word.toLowerCase().replace(/\(\)$/, "");
  const pieces = word.split(AROUND_NAMES).map((piece) => piece.replace(/[.-]+$/, ""));
  const inner = pieces.filter((piece) => INNER_NAME.test(piece)).map((piece) => piece.toLowerCase());
  return [...new Set([whole, whole.split("=")[0], bareName(whole), ...inner, ...inner.map(bareName)])];
}

const WRITTEN_AS_CODE = /[\p{L}\p{N}]_+[\p{L}\p{N}]|\(\)$|::|^--[\p{L}\p{N}]|^[@$][\p{L}\p{N}]/u;
const NAME_WITH_HUMPS = /^(?:[a-z]{2,}(?:[A-Z][a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+){2,})$/;
const FILE_NAME =
  /^(?:\.[a-z][\w.-]{3,}|[\w.-]*\w\.(?:cfg|conf|env|ini|json5?|lock|log|md|py|service|sh|sql|toml|txt|xml|ya?ml))$/;

/** Returns whether a word is written as code only: `user_id`, `include()`, `siteUrl`; not `built-in`, `e.g` or `v2`. */
export const isCode = (word) => [WRITTEN_AS_CODE, NAME_WITH_HUMPS, FILE_NAME].some((pattern) => pattern.test(word));

const bareName = (whole) => whole.replace(AROUND_IDENTIFIER, "").replace(VERSION, "");

/**
 * Returns the pattern that finds the identifiers among the words of a question as a whole; null if it has none. Joined
 * names are found whatever joins their parts.
 */
export function wholeIdentifiers(words, joined = []) {
  const whole = [...new Set(words)].map((word) => identifierPattern(word, word === words.at(-1))).filter(Boolean);
  const inParts = joined.map((name) => `(?<![\\p{L}\\p{N}_])${[...name].join("[-_.]?")}(?![\\p{L}\\p{N}_])`);
  const patterns = [...whole, ...inParts];
  return patterns.length ? new RegExp(patterns.map((pattern) => `(${pattern})`).join("|"), "giu") : null;
}

function identifierPattern(word, unfinished) {
  if (!identifierForms(word).length) return null;
  const names = namesIn(word).filter((name) => [...name].length > 1);
  return names.map((name) => bounded(name, unfinished)).join("|");
}

/** Returns a pattern for a name that is not part of a longer word or number. */
function bounded(name, unfinished) {
  const [first, last] = [name[0], name.at(-1)].map((letter) => (/\p{Nd}/u.test(letter) ? 2 : +/[\p{L}\p{N}_]/u.test(letter)));
  const begin = first || name[0] === "-" ? "(?<![\\p{L}\\p{N}_])" : "";
  const version = first === 2 ? "(?<![0-9]\\.)v?" : "";
  const end = !last ? "" : unfinished && last < 2 ? "[\\p{L}\\p{N}_]*" : "(?![\\p{L}\\p{N}_])";
  return begin + version + name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + end;
}

/**
 * Returns whether a term of a word matches where the whole word does not occur. Short pieces and numbers of an identifier
 * do not: `1` and `28` of `1.28`, or `c` of `C++`.
 */
export const matchesAlone = (term, word) =>
  !([...term].length < 3 || /^\p{Nd}+$/u.test(term)) || !identifierForms(word).length;

/** Splits an identifier: `HTTPException` gives `http` and `exception`. */
export function identifierParts(word) {
  const parts = word.split(SEPARATORS).flatMap((piece) => piece.match(CAMEL) ?? []);
  return parts.length > 1 ? parts.map((part) => part.toLowerCase()) : [];
}
