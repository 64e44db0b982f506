/** The spelling of names of HTTP headers for people. */

/** A cache, because the few names occur in every message. */
const CANONICAL_NAMES_MAX = 1_024;
const canonicalNames = new Map<string, string>();

/** `x-team-id` as `X-Team-Id`: each letter at the start or after a hyphen in upper case, all others in lower case. */
export function canonicalName(name: string): string {
  const known = canonicalNames.get(name);
  if (known !== undefined) return known;
  let text = "";
  let isStart = true;
  for (const character of name) {
    text += isStart ? character.toUpperCase() : character.toLowerCase();
    isStart = character === "-";
  }
  if (canonicalNames.size >= CANONICAL_NAMES_MAX) canonicalNames.clear();
  canonicalNames.set(name, text);
  return text;
}
