/**
 * Replies as RESP, the protocol of Redis over TCP, in its versions 2 and 3.
 * Version 2 has no maps, sets, doubles and booleans: they are flat arrays,
 * arrays, bulk strings and integers.
 *
 * The result is a string of bytes, as everywhere in the edge.
 */
import { type Bytes, onOneLine, withoutLastBreaks } from "../../kernel/bytes.ts";
import type { CommandError, Reply } from "../../store/mod.ts";
import { formatDouble, ok, replyTooLarge } from "../../store/reply/mod.ts";
import { itemsOf, itemsOfResp3, type ListCursor } from "../store/reply-items.ts";
import { textBytes } from "../store/reply-json.ts";

export type RespVersion = 2 | 3;

/** One reply in RESP2. Throws `replyTooLarge` above `bytesMax` bytes. */
export function resp2Result(reply: Reply, bytesMax: number): Bytes {
  return printResp(reply, 2, bytesMax);
}

/** One reply in RESP3. Throws `replyTooLarge` above `bytesMax` bytes. */
export function resp3Result(reply: Reply, bytesMax: number): Bytes {
  return printResp(reply, 3, bytesMax);
}

/** An error is one line: as in Redis, line breaks at the end of its text are dropped and others become spaces. */
export function respError(error: CommandError): Bytes {
  return `-${onOneLine(withoutLastBreaks(textBytes(error.text)))}\r\n`;
}

function printResp(reply: Reply, version: RespVersion, bytesMax: number): Bytes {
  if (reply === ok && bytesMax >= OK_LINE.length) return OK_LINE;
  const items = version === 2 ? itemsOf(reply) : itemsOfResp3(reply);
  if (items !== undefined) return printList(reply, version, bytesMax);
  const text = scalar(reply, version, bytesMax);
  if (text.length > bytesMax) throw replyTooLarge;
  return text;
}

function printList(reply: Reply, version: RespVersion, bytesMax: number): Bytes {
  const outer: ListCursor[] = [];
  let cursor: ListCursor = { items: [reply], done: 0 };
  let text = "";
  for (;;) {
    if (cursor.done === cursor.items.length) {
      const parent = outer.pop();
      if (parent === undefined) return text;
      cursor = parent;
      continue;
    }
    const item = cursor.items[cursor.done] as Reply;
    cursor.done += 1;
    const inner = version === 2 ? itemsOf(item) : itemsOfResp3(item);
    // Checked before a string is copied: text and string together could exceed the length limit of V8's strings.
    if (inner === undefined) text += scalar(item, version, bytesMax - text.length);
    else {
      text += listHeader(item, inner.length, version);
      outer.push(cursor);
      cursor = { items: inner, done: 0 };
    }
    if (text.length > bytesMax) throw replyTooLarge;
  }
}

function listHeader(reply: Reply, itemCount: number, version: RespVersion): Bytes {
  const kind = typeof reply === "object" && reply !== null && "kind" in reply ? reply.kind : "array";
  if (version === 2 || kind === "array" || kind === "flat pairs" || kind === "array in resp3")
    return `*${itemCount}\r\n`;
  if (kind === "push") return `>${itemCount}\r\n`;
  return kind === "map" || kind === "pairs" ? `%${itemCount / 2}\r\n` : `~${itemCount}\r\n`;
}

function scalar(reply: Reply, version: RespVersion, bytesMax: number): Bytes {
  if (typeof reply === "string") {
    if (reply.length > bytesMax) throw replyTooLarge;
    return bulk(reply);
  }
  if (typeof reply === "number" || typeof reply === "bigint") return integer(reply);
  if (reply === null) return version === 2 ? "$-1\r\n" : "_\r\n";
  if (Buffer.isBuffer(reply)) {
    if (reply.length > bytesMax) throw replyTooLarge;
    return bulk(reply.latin1Slice());
  }
  if (!("kind" in reply)) throw new TypeError("An aggregate is not a scalar");
  switch (reply.kind) {
    case "simple":
      return reply.text === "OK" ? OK_LINE : `+${reply.text}\r\n`;
    case "error":
      return respError(reply.error);
    case "nil array":
      return version === 2 ? "*-1\r\n" : "_\r\n";
    case "double": {
      const text = reply.text ?? formatDouble(reply.value);
      return version === 2 ? bulk(text) : `,${text}\r\n`;
    }
    case "boolean":
      if (version === 2) return reply.value ? ":1\r\n" : ":0\r\n";
      return reply.value ? "#t\r\n" : "#f\r\n";
    case "verbatim":
      if (reply.text.length > bytesMax) throw replyTooLarge;
      return version === 2 ? bulk(reply.text) : `=${reply.text.length + 4}\r\ntxt:${reply.text}\r\n`;
    case "array in resp3":
      return scalar(reply.elsewhere, version, bytesMax);
    default:
      throw new TypeError(`A reply of kind ${reply.kind} is an aggregate`);
  }
}

const OK_LINE = "+OK\r\n";
/** Lines of small integers and lengths, which are most of all. */
const LINE_COUNT = 128;
const integerLines = Array.from({ length: LINE_COUNT }, (_, value) => `:${value}\r\n`);
const lengthLines = Array.from({ length: LINE_COUNT }, (_, length) => `$${length}\r\n`);

function integer(value: number | bigint): Bytes {
  const line = typeof value === "number" && value >= 0 && value < LINE_COUNT ? integerLines[value] : undefined;
  return line ?? `:${value}\r\n`;
}

function bulk(bytes: Bytes): Bytes {
  return `${lengthLines[bytes.length] ?? `$${bytes.length}\r\n`}${bytes}\r\n`;
}
