/** JSON as text: what a parser would make of it is not what is written (12345678901234567890, 1.0, a name twice). */

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const INDENT = "  ";

/** Indents valid JSON, and changes nothing but white space. Undefined if it is not valid. */
export function indentJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  let depth = 0;
  let last = "";
  for (const [token] of text.matchAll(TOKENS)) {
    const isOpening = last === "{" || last === "[";
    const isClosing = token === "}" || token === "]";
    if (isClosing) depth -= 1;
    // An empty list or object stays on its line.
    if ((isOpening && !isClosing) || (isClosing && !isOpening) || last === ",") parts.push(`\n${INDENT.repeat(depth)}`);
    parts.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth += 1;
    last = token;
  }
  return parts.join("");
}
