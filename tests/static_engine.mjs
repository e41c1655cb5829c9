/* The browser's search engine outside of a browser: calls as JSON lines in, {value} or {error} out. */

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

const [assets, site] = process.argv.slice(2);

// A file server without a server.
globalThis.fetch = async (url, { headers } = {}) => {
  const content = await readFile(new URL(url)).catch(() => null);
  const [begin, last] = headers?.Range?.match(/\d+/g).map(Number) ?? [];
  if (content && last) return new Response(content.subarray(begin, last + 1), { status: 206 });
  return new Response(content, { status: content ? 200 : 404 });
};

const { createAnswering } = await import(new URL("answering.js", assets).href);
const answer = createAnswering(new URL(site));

for await (const line of createInterface({ input: process.stdin })) {
  const { module, call, argument } = JSON.parse(line);
  const reply = module ? { value: await run(module, call, argument) } : await answer({ call, argument });
  console.log(JSON.stringify(reply));
}

/** Any exported function, for each of many lists of arguments. */
async function run(module, name, calls) {
  const exported = await import(new URL(module, assets).href);
  return calls.map((given) => exported[name](...given));
}
