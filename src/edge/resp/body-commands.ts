/**
 * Commands in RESP, for `/pipeline` and `/multi-exec`: the body of the request is
 * the same as over TCP.
 *
 *     Content-Type: application/x-resp2
 *
 *     *3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\xff\xfe\r\n*2\r\n…
 *
 * JSON is text, so words that are not UTF-8 (of a DUMP, for example) can only be
 * sent one command at a time, in a path. RESP carries any bytes, without escapes.
 * The content type has the name of the matching response format;
 * `application/octet-stream` would be ambiguous, as some clients send it with
 * every body.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { RequestFailure, tooManyWords } from "../errors.ts";
import type { HttpRequest } from "../handler.ts";
import { WORDS_MAX } from "../store/json-reader.ts";
import { RequestParser } from "./request-parser.ts";

const RESP_CONTENT_TYPE = "application/x-resp2";
const ASTERISK = 0x2a;

/** Whether the body is in RESP. JSON never begins with an asterisk, so the first byte decides for most requests. */
export function hasRespBody(request: Pick<HttpRequest, "body" | "header">): boolean {
  if (request.body[0] !== ASTERISK) return false;
  const [type = ""] = request.header("content-type")?.split(";", 1) ?? [];
  return type.trim().toLowerCase() === RESP_CONTENT_TYPE;
}

/** The words of each command, in order. Throws `malformed` with the reason. */
export function parseRespBatch(body: Buffer, malformed: RequestFailure): readonly (readonly Bytes[])[] {
  // The body is complete, and its length was checked.
  const parser = new RequestParser({ requestBytesMax: Number.POSITIVE_INFINITY, isTrusted: () => true });
  const commands: Bytes[][] = [];
  let wordCount = 0;
  parser.feed(body);
  for (let words = parser.next(); words !== undefined; words = parser.next()) {
    wordCount += words.length;
    if (wordCount > WORDS_MAX) throw tooManyWords(WORDS_MAX);
    commands.push(words);
  }
  const { failure, isBetweenRequests } = parser;
  if (failure !== undefined)
    throw new RequestFailure(malformed.kind, `${malformed.text}: ${failure.replace(/^ERR /, "")}`);
  if (!isBetweenRequests) throw new RequestFailure(malformed.kind, `${malformed.text}: the last command is cut off`);
  return commands;
}
