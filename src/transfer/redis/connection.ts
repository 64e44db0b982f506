/**
 * A client connection to a Redis server, for reading an imported store. Commands
 * are sent in batches; the next batch may be sent before the replies to the last one.
 */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectEncrypted } from "node:tls";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { unreachedText } from "../../kernel/text/unreached.ts";
import { StartRefusal } from "../../program/refusal.ts";
import { printCommands, ReplyError, ReplyReader, type RespReply, WrongReply } from "./replies.ts";

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly isEncrypted: boolean;
  /** Undefined: the user of a password without user, `default`. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
}

const PORT = 6_379;
/** Limit between two parts of the server's reply. */
const SILENCE_MS_MAX = 120_000;

/** Parses `redis://user:password@host:port/0`, or `rediss://` with TLS. A `StartRefusal` never shows the password. */
export function parseRedisAddress(text: string, password: string | undefined): RedisAddress {
  const url = URL.parse(text);
  const database = /^\/?(\d{0,6})$/.exec(url?.pathname ?? "x")?.[1];
  if (url === null || url.hostname === "" || database === undefined || url.search !== "" || url.hash !== "")
    throw new StartRefusal(
      "The address of a Redis server must be redis://user:password@host:port/database, or rediss://…",
      2,
    );
  return {
    // A number in brackets is an address of IPv6.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? PORT : Number(url.port),
    isEncrypted: url.protocol === "rediss:",
    user: url.username === "" ? undefined : decode(url.username),
    password: url.password === "" ? password : decode(url.password),
    database: Number(database),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StartRefusal("User and password in the address of a Redis server must be percent-encoded", 2);
  }
}

/** Without user and password. */
export function printRedisAddress({ host, port, isEncrypted, database }: RedisAddress): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${isEncrypted ? "rediss" : "redis"}://${name}:${port}/${database}`;
}

export class RedisConnection {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  /** In the order of their replies. */
  readonly #waiting: Waiting[] = [];
  #fault: Error | undefined;
  #cancelSilence: () => void = () => {};

  constructor(name: string, socket: Socket, clock: Clock) {
    this.#name = name;
    this.#socket = socket;
    this.#clock = clock;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (fault) => this.#end(fault));
    socket.on("close", () => this.#end(new Error("it has closed the connection")));
  }

  /** The replies, in order; an error is a value. Rejects with a `StartRefusal` if the connection fails. */
  async send(commands: readonly (readonly Bytes[])[]): Promise<readonly RespReply[]> {
    if (commands.length === 0) return [];
    if (this.#fault !== undefined) throw this.#refusal(this.#fault);
    const done = Promise.withResolvers<readonly RespReply[]>();
    this.#waiting.push({ count: commands.length, replies: [], done });
    this.#socket.write(printCommands(commands));
    this.#listen();
    return done.promise;
  }

  /** One command that must not fail. */
  async call(words: readonly Bytes[]): Promise<RespReply> {
    const [reply = null] = await this.send([words]);
    if (reply instanceof ReplyError) throw this.#refusal(new Error(reply.text));
    return reply;
  }

  close(): void {
    this.#cancelSilence();
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#waiting.length === 0) return;
    this.#listen();
    try {
      this.#reader.feed(chunk);
      this.#readReplies();
    } catch (fault) {
      if (!(fault instanceof WrongReply)) throw fault;
      this.#end(fault);
      return;
    }
    if (this.#waiting.length === 0) this.#cancelSilence();
  }

  #readReplies(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      while (first.replies.length < first.count) {
        const reply = this.#reader.next();
        if (reply === undefined) return;
        first.replies.push(reply);
      }
      this.#waiting.shift();
      first.done.resolve(first.replies);
    }
  }

  #listen(): void {
    this.#cancelSilence();
    const silence = (): void => this.#end(new Error(`it is silent for ${SILENCE_MS_MAX / 1_000} s`));
    this.#cancelSilence = this.#clock.after(SILENCE_MS_MAX, silence);
  }

  #end(fault: Error): void {
    this.#fault ??= fault;
    this.#cancelSilence();
    this.#socket.destroy();
    for (const { done } of this.#waiting.splice(0)) done.reject(this.#refusal(this.#fault));
  }

  #refusal(cause: Error): StartRefusal {
    return new StartRefusal(`${this.#name}: ${unreachedText(cause)}`, 1, { cause });
  }
}

interface Waiting {
  readonly count: number;
  readonly replies: RespReply[];
  readonly done: PromiseWithResolvers<readonly RespReply[]>;
}

/** Connects, logs in and chooses the database. Rejects with a `StartRefusal`. */
export async function openRedis(address: RedisAddress, clock: Clock): Promise<RedisConnection> {
  const { host, port, isEncrypted, user, password, database } = address;
  // A certificate can only be checked for a name.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = isEncrypted ? connectEncrypted({ host, port, ...named }) : connectPlain({ host, port });
  const connection = new RedisConnection(printRedisAddress(address), socket, clock);
  try {
    // A password without user belongs to `default`, also before Redis 6.
    if (password !== undefined)
      await connection.call(["AUTH", ...(user === undefined ? [] : [bytes(user)]), bytes(password)]);
    if (database !== 0) await connection.call(["SELECT", `${database}`]);
    return connection;
  } catch (fault) {
    connection.close();
    throw fault;
  }
}

function bytes(text: string): Bytes {
  return Buffer.from(text, "utf8").latin1Slice();
}
