/**
 * The paths of area B: `/<command>/<namespace>`, and the same behind the name
 * of an index (B.paths, B.namespace).
 *
 * (1) A first segment that is a command is that command. Any other is the name
 *     of an index, and the command stands behind it: clients join a base URL
 *     that has a path with the path of the command. So an index that is called
 *     like a command is asked without its name: the token names it.
 * (2) The namespace is everything behind the command, slashes and all, decoded
 *     once. Nothing, or a slash alone, is the default namespace, "".
 */
import { isUtf8 } from "node:buffer";
import { bufferFrom, isAscii, textFromBytes } from "../../kernel/bytes.ts";
import { namespaceMalformed, namespaceTooLong } from "../errors.ts";
import { percentDecode } from "../http/percent.ts";

export interface VectorPath {
  /** In front of the command, as written; undefined when there is none. */
  readonly indexName: string | undefined;
  readonly command: string;
  /** Behind the command and its slash, as written. */
  readonly rest: string;
}

/** Takes a path without its query apart, or returns undefined where it has no command. keeps (1) */
export function splitVectorPath(path: string, isCommand: (segment: string) => boolean): VectorPath | undefined {
  const first = segmentAt(path, 1);
  if (isCommand(first)) return { indexName: undefined, command: first, rest: path.slice(first.length + 2) };
  const start = first.length + 2;
  const second = segmentAt(path, start);
  if (first === "" || !isCommand(second)) return undefined;
  return { indexName: first, command: second, rest: path.slice(start + second.length + 1) };
}

/** The segment that begins at `start`; empty behind the end of the path. */
function segmentAt(path: string, start: number): string {
  const end = path.indexOf("/", start);
  return path.slice(start, end < 0 ? path.length : end);
}

/** A `%` without two hex digits behind it. */
const MALFORMED_PERCENT = /%(?![0-9a-f]{2})/i;

/**
 * The namespace that `rest` spells, at most `bytesMax` bytes in UTF-8. Throws a RequestFailure when it is longer or
 * spells no text. keeps (2)
 */
export function readNamespace(rest: string, bytesMax: number): string {
  if (MALFORMED_PERCENT.test(rest)) throw namespaceMalformed;
  const bytes = percentDecode(rest, { start: 0, end: rest.length, part: "path" });
  // Bytes that are no text would become U+FFFD, and two namespaces the same.
  if (!isAscii(bytes) && !isUtf8(bufferFrom(bytes))) throw namespaceMalformed;
  if (bytes.length > bytesMax) throw namespaceTooLong(bytes.length, bytesMax);
  return textFromBytes(bytes);
}
