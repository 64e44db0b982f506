/**
 * The paths of area B: `/<command>/<namespace>`, and the same after the name of an
 * index (B.paths, B.namespace).
 *
 * (1) A first segment that is a command is that command. Any other one is the name
 *     of an index, followed by the command: clients append the command to a base
 *     URL with a path. So an index with the name of a command can only be used
 *     without its name; the token selects it.
 * (2) The namespace is everything after the command, including slashes, decoded
 *     once. Nothing, or a single slash, is the default namespace, "".
 */
import { isUtf8 } from "node:buffer";
import { bufferFrom, isAscii, textFromBytes } from "../../kernel/bytes.ts";
import { namespaceMalformed, namespaceTooLong } from "../errors.ts";
import { percentDecode } from "../http/percent.ts";

export interface VectorPath {
  /** The segment before the command, as written, or undefined. */
  readonly indexName: string | undefined;
  readonly command: string;
  /** The text after the command and its slash, as written. */
  readonly rest: string;
}

/** Splits a path without its query. Undefined for a path without a command. keeps (1) */
export function splitVectorPath(path: string, isCommand: (segment: string) => boolean): VectorPath | undefined {
  const first = segmentAt(path, 1);
  if (isCommand(first)) return { indexName: undefined, command: first, rest: path.slice(first.length + 2) };
  const start = first.length + 2;
  const second = segmentAt(path, start);
  if (first === "" || !isCommand(second)) return undefined;
  return { indexName: first, command: second, rest: path.slice(start + second.length + 1) };
}

/** The segment that begins at `start`; empty after the end of the path. */
function segmentAt(path: string, start: number): string {
  const end = path.indexOf("/", start);
  return path.slice(start, end < 0 ? path.length : end);
}

/** A `%` without two hex digits. */
const MALFORMED_PERCENT = /%(?![0-9a-f]{2})/i;

/**
 * The decoded namespace of `rest`, at most `bytesMax` bytes in UTF-8. Throws a RequestFailure if it is longer or not
 * UTF-8. keeps (2)
 */
export function readNamespace(rest: string, bytesMax: number): string {
  if (MALFORMED_PERCENT.test(rest)) throw namespaceMalformed;
  const bytes = percentDecode(rest, { start: 0, end: rest.length, part: "path" });
  // Invalid UTF-8 would become U+FFFD, and two namespaces would become one.
  if (!isAscii(bytes) && !isUtf8(bufferFrom(bytes))) throw namespaceMalformed;
  if (bytes.length > bytesMax) throw namespaceTooLong(bytes.length, bytesMax);
  return textFromBytes(bytes);
}
