/** Marks the words of a text that a filter asks for. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Analyzer } from "./analyzer.ts";

export interface Highlighting {
  /** The analyzer of the field. */
  readonly analyzer: Analyzer;
  /** Terms of the field, as analysed tokens. */
  readonly terms: ReadonlySet<Bytes>;
  /** Before and after each marked word. */
  readonly open: Bytes;
  readonly close: Bytes;
}

/** The whole text, with each word whose term is in the set between `open` and `close`. Nothing is escaped. */
export function highlight(text: Bytes, { analyzer, terms, open, close }: Highlighting): Bytes {
  if (terms.size === 0) return text;
  const parts: Bytes[] = [];
  let from = 0;
  analyzer.analyse(text, (term, start, end) => {
    if (!terms.has(term)) return;
    parts.push(text.slice(from, start), open, text.slice(start, end), close);
    from = end;
  });
  if (from === 0) return text;
  parts.push(text.slice(from));
  return parts.join("");
}
