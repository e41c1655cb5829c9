/*
 * Opens a page in a running Firefox by WebDriver BiDi and takes steps there. A step is "offline", "online" or a script. On
 * standard output: {value, errors}, with the value of the last script.
 */

const [address, page, ...steps] = process.argv.slice(2);
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
let value = null;
for (const step of steps) {
  if (["offline", "online"].includes(step)) {
    const networkConditions = step === "offline" ? { type: step } : null;
    await command("emulation.setNetworkConditions", { contexts: [context], networkConditions });
    continue;
  }
  const given = { expression: step, target: { context }, awaitPromise: true };
  const { result, exceptionDetails } = await command("script.evaluate", given);
  value = result?.value ?? null;
  errors.push(...(exceptionDetails ? [exceptionDetails.text] : []));
}
console.log(JSON.stringify({ value, errors }));
process.exit();
