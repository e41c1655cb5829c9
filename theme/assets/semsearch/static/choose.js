/* Chooses the engine that is asked first: a sidecar, or the browser itself over the files of the site. */

const PATIENCE = 1500; // milliseconds for a sidecar on the origin of the site

/** Returns the module of the browser's engine, or {} where a sidecar answers. */
export async function chooseEngine({ api_url: api, static: files }, root) {
  const sidecar = files === "auto" ? await remembered(new URL(`${api}/api/v1/facets`, root), root) : api;
  return sidecar ? {} : import("./engine.js");
}

/** Looks for a sidecar once a visit: on a host of files each look is a failed request. */
async function remembered(url, root) {
  const key = `semsearch-sidecar:${root.pathname}`;
  const known = stored(() => sessionStorage.getItem(key));
  if (known) return known === "yes";
  const found = await answers(url);
  if (found !== null) stored(() => sessionStorage.setItem(key, found ? "yes" : "no"));
  return found;
}

/** Null where nobody can tell: there was no answer in time, or a proxy had none. */
async function answers(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) });
    const { facets, error } = await response.json().catch(() => ({}));
    return !!(facets || error?.code) || (response.status < 500 ? false : null);
  } catch {
    return null;
  }
}

function stored(use) {
  try {
    return use();
  } catch {
    return null; // the reader allows no storage
  }
}
