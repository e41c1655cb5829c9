/* Imports modules that are not loaded before they are needed. */

const lost = {}; // how often, by address

/**
 * Imports a module. Firefox and Safari never request an address again that they could not load, so the next attempt
 * uses another one. A module that could not be loaded is reported as an event, like a style sheet; errors in its code
 * are not.
 */
export async function load(address) {
  const times = lost[address] ?? 0;
  try {
    return await import(times ? `${address}?${times}` : address);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    lost[address] = times + 1;
    throw new ErrorEvent("error", { message: error.message });
  }
}
