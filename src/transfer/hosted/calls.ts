/**
 * Commands for a store with an HTTP interface, in the form that every service of
 * this kind understands: `/pipeline` with JSON, replies in base64.
 *
 * (1) Words that are not UTF-8 cannot be in JSON. Such a command is sent alone,
 *     percent-encoded in a path.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, bufferFrom, textFromBytes } from "../../kernel/bytes.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import type { AreaAnswer, AreaClient } from "../area-client.ts";
import { ReplyError, type RespReply } from "../redis/replies.ts";
import { sourceRefusal } from "../store/source.ts";

const ENCODING = { "upstash-encoding": "base64" };

export class HostedCalls {
  readonly #client: AreaClient;

  constructor(client: AreaClient) {
    this.#client = client;
  }

  /** The replies, in order; an error is a value. Rejects with a `StartRefusal` if the request fails. */
  async send(commands: readonly (readonly Bytes[])[]): Promise<readonly RespReply[]> {
    const replies: RespReply[] = [];
    let batch: (readonly string[])[] = [];
    const flush = async (): Promise<void> => {
      if (batch.length > 0) replies.push(...(await this.#pipeline(batch)));
      batch = [];
    };
    for (const words of commands) {
      if (words.every((word) => isUtf8(bufferFrom(word)))) batch.push(words.map(textFromBytes));
      else {
        await flush();
        replies.push(await this.#path(words)); // keeps (1)
      }
    }
    await flush();
    return replies;
  }

  /** One command that must not fail. */
  async call(words: readonly Bytes[]): Promise<RespReply> {
    const [reply = null] = await this.send([words]);
    if (reply instanceof ReplyError) throw sourceRefusal(this.#client.base, reply.text);
    return reply;
  }

  async #pipeline(commands: readonly (readonly string[])[]): Promise<readonly RespReply[]> {
    const answer = await this.#client.send({
      method: "POST",
      path: "/pipeline",
      headers: { ...ENCODING, "content-type": "application/json" },
      body: JSON.stringify(commands),
    });
    const value = parse(answer);
    if (answer.status !== 200 || !Array.isArray(value) || value.length !== commands.length)
      throw this.#refusal(answer, value);
    return value.map(replyOf);
  }

  async #path(words: readonly Bytes[]): Promise<RespReply> {
    const path = words.map((word) => `/${percentEncoded(word)}`).join("");
    const answer = await this.#client.send({ method: "POST", path, headers: ENCODING });
    const value = parse(answer);
    if ((answer.status !== 200 && answer.status !== 400) || value === undefined) throw this.#refusal(answer, value);
    return replyOf(value);
  }

  #refusal({ status }: AreaAnswer, value: unknown): Error {
    const reply = typeof value === "object" && value !== null && "error" in value ? replyOf(value) : undefined;
    const reason = reply instanceof ReplyError ? reply.text : "it is not a store with this interface";
    return sourceRefusal(this.#client.base, `it answers ${status}: ${reason}`);
  }
}

function parse({ body }: AreaAnswer): unknown {
  try {
    return parseJsonText(body.utf8Slice());
  } catch {
    return undefined;
  }
}

/** `{"result": …}` or `{"error": …}`. */
function replyOf(value: unknown): RespReply {
  if (typeof value !== "object" || value === null) return null;
  if ("error" in value) return new ReplyError(String(value.error));
  return "result" in value ? decoded(value.result, { isOuter: true }) : null;
}

/** Every string is base64, except an OK that is the whole reply. */
function decoded(value: unknown, { isOuter }: { isOuter: boolean }): RespReply {
  if (typeof value === "string") return isOuter && value === "OK" ? value : Buffer.from(value, "base64").latin1Slice();
  if (typeof value === "number") return value;
  if (Array.isArray(value)) return value.map((item) => decoded(item, { isOuter: false }));
  return null;
}

function percentEncoded(word: Bytes): string {
  let text = "";
  for (const byte of bufferFrom(word)) text += `%${byte.toString(16).padStart(2, "0")}`;
  return text;
}
