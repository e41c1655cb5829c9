/* Imports the modules that are loaded when they are needed. */

const lost = {}; // how often, by address

/**
 * Imports a module. Firefox and Safari remember for ever that an address gave no module, so the next attempt has another
 * one. A module that gets lost is reported with an event, as a lost style sheet is; an error in its code stays itself.
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
