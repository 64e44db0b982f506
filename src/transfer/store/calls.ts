/**
 * Commands for a database of larder over its HTTP interface: batches and replies
 * are RESP, so that keys and values may be any bytes.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { StartRefusal } from "../../program/refusal.ts";
import type { AreaClient } from "../area-client.ts";
import { printCommands, ReplyError, ReplyReader, type RespReply, WrongReply } from "../redis/replies.ts";

const HEADERS = { "content-type": "application/x-resp2", "service-response-format": "resp2" };

export class StoreCalls {
  readonly #client: AreaClient;

  constructor(client: AreaClient) {
    this.#client = client;
  }

  get base(): string {
    return this.#client.base;
  }

  /** The reply to each command, in order. Rejects with a `StartRefusal` if the whole batch is refused. */
  async pipeline(commands: readonly (readonly Bytes[])[]): Promise<readonly RespReply[]> {
    if (commands.length === 0) return [];
    const body = printCommands(commands);
    const answer = await this.#client.send({ method: "POST", path: "/pipeline", headers: HEADERS, body });
    if (answer.status !== 200) throw refusal(this.base, answer);
    const reader = new ReplyReader();
    reader.feed(answer.body);
    return commands.map(() => {
      const reply = reader.next();
      if (reply === undefined) throw new WrongReply("an answer ends before its last reply");
      return reply;
    });
  }

  /** Runs all commands or none; resolves with the text of the first error among the replies, if there is one. */
  async transaction(commands: readonly (readonly Bytes[])[]): Promise<string | undefined> {
    const headers = { "content-type": HEADERS["content-type"] };
    const body = printCommands(commands);
    const answer = await this.#client.send({ method: "POST", path: "/multi-exec", headers, body });
    const value: unknown = parseJson(answer.body);
    if (answer.status !== 200 && answer.status !== 400) throw refusal(this.base, answer);
    const replies: readonly unknown[] = Array.isArray(value) ? value : [value];
    return replies.map(errorOf).find((text) => text !== undefined);
  }

  /** One command that must not fail. */
  async call(words: readonly Bytes[]): Promise<RespReply> {
    const [reply = null] = await this.pipeline([words]);
    if (reply instanceof ReplyError) throw new StartRefusal(`${this.base}: ${reply.text}`);
    return reply;
  }
}

function refusal(base: string, { status, body }: { status: number; body: Buffer }): StartRefusal {
  return new StartRefusal(`${base}: ${errorOf(parseJson(body)) ?? `it answers ${status} and is not a larder store`}`);
}

function errorOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("error" in value)) return undefined;
  return typeof value.error === "string" ? value.error : undefined;
}

function parseJson(body: Buffer): unknown {
  try {
    return parseJsonText(body.utf8Slice());
  } catch {
    return undefined;
  }
}
