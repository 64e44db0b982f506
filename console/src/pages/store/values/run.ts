/**
 * Commands of the store with any bytes, in both directions: the words go to `/pipeline` in RESP, and so do the replies come
 * back. JSON would lose bytes that are not UTF-8, and the difference between a status and a string.
 */
import { ApiError, of, send } from "../../../api/client.ts";
import { arrayOfBytes, type Bytes, bytesOfArray, textOfBytes } from "./bytes.ts";

export interface Status {
  readonly status: string;
}
export interface Failure {
  readonly error: string;
}
export type Reply = Bytes | number | bigint | null | Status | Failure | readonly Reply[];
export type Words = readonly (Bytes | number)[];

/** Runs commands in order. A failure of one of them is in its place. Throws `ApiError` if the request fails. */
export async function run(database: string, commands: readonly Words[], signal?: AbortSignal): Promise<Reply[]> {
  if (commands.length === 0) return [];
  const response = await send(`${of("store", database)}pipeline`, {
    body: arrayOfBytes(commands.map(respOf).join("")),
    headers: { "content-type": "application/x-resp2", "upstash-response-format": "resp2" },
    ...(signal !== undefined && { signal }),
  });
  const parser = new ReplyParser(new Uint8Array(await response.arrayBuffer()));
  return commands.map(() => parser.next());
}

/** Runs a command and resolves with its reply. Throws `ApiError` with the text of a failure. */
export async function ask(database: string, words: Words, signal?: AbortSignal): Promise<Reply> {
  const [reply = null] = await run(database, [words], signal);
  if (isFailure(reply)) throw new ApiError(reply.error, 400);
  return reply;
}

/** Runs commands and resolves with their replies. Throws `ApiError` with the text of the first failure. */
export async function askAll(database: string, commands: readonly Words[], signal?: AbortSignal): Promise<Reply[]> {
  const replies = await run(database, commands, signal);
  const failure = replies.find(isFailure);
  if (failure !== undefined) throw new ApiError(failure.error, 400);
  return replies;
}

/** Runs a Lua script, as one step that no other command can come between. */
export function script(database: string, text: string, { keys, args }: { keys: Words; args: Words }): Promise<Reply> {
  return ask(database, ["EVAL", text, keys.length, ...keys, ...args]);
}

export function isFailure(reply: Reply | undefined): reply is Failure {
  return typeof reply === "object" && reply !== null && "error" in reply;
}

export function isStatus(reply: Reply | undefined): reply is Status {
  return typeof reply === "object" && reply !== null && "status" in reply;
}

/** A reply of another kind is an empty list, as in "a list or nil". */
export function listOf(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? (reply as readonly Reply[]) : [];
}

export function bytesOf(reply: Reply | undefined): Bytes {
  if (typeof reply === "string") return reply;
  if (typeof reply === "number" || typeof reply === "bigint") return `${reply}`;
  return isStatus(reply) ? reply.status : "";
}

/** The text of a reply that is text by its meaning. */
export function textOfReply(reply: Reply | undefined): string {
  const bytes = bytesOf(reply);
  return textOfBytes(bytes) ?? bytes;
}

export function numberOf(reply: Reply | undefined): number {
  return typeof reply === "number" ? reply : Number(bytesOf(reply));
}

/** The names and values of a flat list. */
export function mapOf(reply: Reply | undefined): Map<string, Reply> {
  const list = listOf(reply);
  const map = new Map<string, Reply>();
  for (let at = 0; at + 1 < list.length; at += 2) map.set(textOfReply(list[at]), list[at + 1] ?? null);
  return map;
}

function respOf(words: Words): Bytes {
  return `*${words.length}\r\n${words.map((word) => `$${`${word}`.length}\r\n${word}\r\n`).join("")}`;
}

const CARRIAGE_RETURN = 0x0d;

class ReplyParser {
  readonly #input: Uint8Array;
  #at = 0;

  constructor(input: Uint8Array) {
    this.#input = input;
  }

  next(): Reply {
    const line = this.#line();
    const rest = line.slice(1);
    switch (line[0]) {
      case "+":
        return { status: rest };
      case "-":
        return { error: textOfBytes(rest) ?? rest };
      case ":":
        return Number.isSafeInteger(Number(rest)) ? Number(rest) : BigInt(rest);
      case "$":
        return this.#bulk(Number(rest));
      case "*":
        return rest === "-1" ? null : Array.from({ length: Number(rest) }, () => this.next());
      default:
        throw new ApiError("the answer of the store is not RESP", 0);
    }
  }

  #line(): Bytes {
    const end = this.#input.indexOf(CARRIAGE_RETURN, this.#at);
    if (end < 0) throw new ApiError("the answer of the store is cut off", 0);
    const line = bytesOfArray(this.#input.subarray(this.#at, end));
    this.#at = end + 2;
    return line;
  }

  #bulk(length: number): Bytes | null {
    if (length < 0) return null;
    const end = this.#at + length;
    if (end > this.#input.length) throw new ApiError("the answer of the store is cut off", 0);
    const bytes = bytesOfArray(this.#input.subarray(this.#at, end));
    this.#at = end + 2;
    return bytes;
  }
}
