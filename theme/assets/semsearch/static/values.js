/* The values of fields: how a filter's value is read as one of the field's type, and how values compare. */

const READERS = { string: String, list: String, integer: asNumber, number: asNumber, date: asDate, boolean: asBoolean };
const WANTED = { integer: "a number", number: "a number", date: "a date (YYYY-MM-DD)", boolean: "true or false" };

function asNumber(value) {
  if (typeof value === "number") return value;
  const text = `${value}`.trim();
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) && Number.isFinite(+text) ? +text : null;
}

/** As YYYY-MM-DD, which compares as text. */
function asDate(value) {
  const [, text] = /^\s*(\d{4}-\d\d-\d\d)(?:[T ].*)?\s*$/.exec(value) ?? [];
  const date = new Date(`${text}T00:00Z`);
  return text && !Number.isNaN(+date) && date.toISOString().startsWith(text) ? text : null;
}

function asBoolean(value) {
  return { true: true, false: false }[`${value}`.toLowerCase()] ?? null;
}

/** Throws where a value cannot be one of the field's type. */
export function readValue(value, type, field) {
  const found = READERS[type](value);
  if (found === null) throw misfit(value, type, field);
  return found;
}

/** What tells whether a value lies in a range; text compares as numbers or dates where the ends are such. */
export function rangeTest({ field, min, max }, type) {
  const ends = [min, max].filter((end) => end != null);
  if (!ends.length) throw wrong(`The range on '${field}' has neither min nor max: give at least one.`);
  const order = orderOf(type, ends);
  const [low, high] = [min, max].map((end) => (end == null ? null : order(end)));
  for (const end of ends) if (order(end) === null) throw misfit(end, type, field);
  return (value) => {
    const place = order(value);
    return place !== null && (low === null || place >= low) && (high === null || place <= high);
  };
}

function orderOf(type, ends) {
  if (type !== "string" && type !== "list") return READERS[type];
  return [asNumber, asDate].find((reader) => ends.every((end) => reader(end) !== null)) ?? String;
}

const misfit = (value, type, field) =>
  wrong(`${field} is of type ${type}: '${value}' is not ${WANTED[type] ?? "text"}.`);

export const wrong = (message) => Object.assign(new Error(message), { status: 422 });
