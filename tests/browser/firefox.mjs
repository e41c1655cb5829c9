/* Opens a page in a running Firefox by WebDriver BiDi and evaluates a script in it: {value, errors} on standard output. */

const [address, page, script] = process.argv.slice(2);
const socket = new WebSocket(`${address}/session`);
const waiting = new Map();
const errors = [];

socket.addEventListener("message", ({ data }) => {
  const { id, result, type, message, method, params } = JSON.parse(data);
  if (method === "log.entryAdded" && params.level === "error") errors.push(params.text);
  if (type === "error") waiting.get(id).reject(new Error(message));
  else waiting.get(id)?.resolve(result);
});

function command(method, params) {
  const id = waiting.size;
  socket.send(JSON.stringify({ id, method, params }));
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
await command("session.new", { capabilities: {} });
await command("session.subscribe", { events: ["log.entryAdded"] });
const { contexts } = await command("browsingContext.getTree", {});
const { context } = contexts[0];
await command("browsingContext.navigate", { context, url: page, wait: "complete" });
const given = { expression: script, target: { context }, awaitPromise: true };
const { result, exceptionDetails } = await command("script.evaluate", given);
console.log(JSON.stringify({ value: result?.value, errors: errors.concat(exceptionDetails?.text ?? []) }));
process.exit();
