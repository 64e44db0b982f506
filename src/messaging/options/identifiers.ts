/**
 * Names that callers choose: schedule ids, queue names, URL group names,
 * flow-control keys. Paths, lists and logs contain them unchanged.
 */

/** In characters (H.identifiers): room for a prefix and two UUIDs many times over. */
export const IDENTIFIER_LENGTH_MAX = 256;

/** The rule in words, for the text of a refusal. */
export const identifierRule = `must be 1 to ${IDENTIFIER_LENGTH_MAX} letters, digits, hyphens, underscores or periods, and not . or ..`;

/**
 * 1 to 256 of the ASCII letters and digits, hyphen, underscore and period (H.identifiers). `.` and `..` are not valid:
 * clients remove these segments from a path, so a resource with such a name could not be read or deleted.
 */
export function isIdentifier(text: string): boolean {
  if (text === "" || text.length > IDENTIFIER_LENGTH_MAX || text === "." || text === "..") return false;
  for (let at = 0; at < text.length; at += 1) if (!isAllowed(text.charCodeAt(at))) return false;
  return true;
}

function isAllowed(code: number): boolean {
  const isDigit = code >= 0x30 && code <= 0x39;
  const letter = code | 0x20;
  const isLetter = code < 0x80 && letter >= 0x61 && letter <= 0x7a;
  return isDigit || isLetter || code === 0x2d || code === 0x2e || code === 0x5f;
}
