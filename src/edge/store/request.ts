/**
 * The head of a store request: the caller and the format of the answer. Read in
 * one pass over the headers, because this runs for every request.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type CommandError, type Database, defaultUser, type Reply, readOnlyUser, type User } from "../../store/mod.ts";
import type { Grant } from "../auth.ts";
import { resp2WithBase64, unknownResponseFormat } from "../errors.ts";
import type { HttpRequest, RequestHead } from "../handler.ts";
import { HeaderSet, headerSpellings, unprefixedHeader } from "../names.ts";
import { resp2Result, respError } from "../resp/replies.ts";
import { jsonBody, jsonResultWithLong } from "./long/value-reply.ts";
import { base64Result } from "./reply-base64.ts";
import { jsonError, utf8Of } from "./reply-json.ts";

/** A format of answers: how one reply is printed, and how several are joined. */
export interface ReplyFormat {
  readonly contentType: string;
  readonly open: Bytes;
  readonly separator: Bytes;
  readonly close: Bytes;
  /** Throws `replyTooLarge`. */
  result(reply: Reply, bytesMax: number): Bytes;
  /** A single reply as the whole body. Throws `replyTooLarge`. */
  body(reply: Reply, bytesMax: number): Bytes | Buffer;
  error(error: CommandError): Bytes;
  /** Finishes the whole body. Throws `replyTooLarge` if the result has more than `bytesMax` bytes. */
  finish(body: Bytes, bytesMax: number): Bytes;
}

const list = {
  contentType: "application/json",
  open: "[",
  separator: ",",
  close: "]",
  error: jsonError,
  finish: utf8Of,
};
export const jsonFormat: ReplyFormat = { ...list, result: jsonResultWithLong, body: jsonBody };
/** Replies are ASCII already, except the texts of errors: so a long one is not read once more. */
export const base64Format: ReplyFormat = {
  ...list,
  result: base64Result,
  body: base64Result,
  error: (error) => utf8Of(jsonError(error)),
  finish: (body) => body,
};
/** Several replies follow each other as over TCP. */
export const resp2Format: ReplyFormat = {
  contentType: "application/octet-stream",
  open: "",
  separator: "",
  close: "",
  result: resp2Result,
  body: resp2Result,
  error: respError,
  finish: (body) => body,
};

export interface StoreHead {
  readonly authorization: string | undefined;
  readonly encoding: string | undefined;
  readonly responseFormat: string | undefined;
  /** The lower-case name of the sync token header that the client sent. */
  readonly syncTokenHeader: string | undefined;
  readonly hasOrigin: boolean;
}

const ours = ["encoding", "response-format", "sync-token"];
const headers = new HeaderSet(["authorization", "origin", ...ours.flatMap(headerSpellings)]);

/** The first of each header counts, and `Service-` before `Upstash-`. */
export function readStoreHead(rawHeaders: readonly string[]): StoreHead {
  let authorization: string | undefined;
  let encoding: string | undefined;
  let responseFormat: string | undefined;
  let syncTokenHeader: string | undefined;
  let hasOrigin = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = headers.find(rawHeaders[i] as string);
    if (name === undefined) continue;
    const value = rawHeaders[i + 1] as string;
    if (name === "authorization") authorization ??= value;
    else if (name === "origin") hasOrigin = true;
    else {
      const comesFirst = name.startsWith("service-");
      const own = unprefixedHeader(name);
      if (own === "encoding") encoding = comesFirst ? value : (encoding ?? value);
      else if (own === "response-format") responseFormat = comesFirst ? value : (responseFormat ?? value);
      else syncTokenHeader = comesFirst ? name : (syncTokenHeader ?? name);
    }
  }
  return { authorization, encoding, responseFormat, syncTokenHeader, hasOrigin };
}

/** What the area has learnt from a head. */
class LearntHead {
  readonly head: StoreHead;

  constructor(head: StoreHead) {
    this.head = head;
  }
}

/** As `readStoreHead`; the headers of a head that repeats are read once. */
export function storeHeadOf(request: Pick<RequestHead, "memo" | "rawHeaders">): StoreHead {
  const { memo } = request;
  if (memo === undefined) return readStoreHead(request.rawHeaders);
  if (memo.learnt instanceof LearntHead) return memo.learnt.head;
  // Only here, since the list of a head that repeats is made on demand.
  const head = readStoreHead(request.rawHeaders);
  memo.learnt = new LearntHead(head);
  return head;
}

/** The format that the headers ask for (A.encoding, A.response-format). Throws a RequestFailure. */
export function chooseFormat({ encoding, responseFormat }: StoreHead): ReplyFormat {
  // Only `base64` has a meaning; other encodings are ignored.
  const isBase64 = encoding !== undefined && encoding.toLowerCase() === "base64";
  if (responseFormat === undefined) return isBase64 ? base64Format : jsonFormat;
  switch (responseFormat.toLowerCase()) {
    case "json":
      return isBase64 ? base64Format : jsonFormat;
    case "resp2":
      if (isBase64) throw resp2WithBase64;
      return resp2Format;
    default:
      throw unknownResponseFormat(responseFormat);
  }
}

/** The user of a token, with its current rights; undefined if it was deleted. */
export function userOf(grant: Grant, { users }: Database): User | undefined {
  switch (grant.access) {
    case "standard":
      return defaultUser;
    case "read-only":
      return readOnlyUser;
    case "acl":
      return users.find(grant.user);
    default: {
      const never: never = grant;
      throw new Error(`Unknown access of ${String(never)}`);
    }
  }
}

/** What the store may ask of the request of a caller. */
type CallerHead = Pick<HttpRequest, "remoteAddress" | "remotePort" | "isAbandoned">;

/** The caller of a command, for the store. */
export class HttpCaller {
  readonly user: User;
  readonly transport = "http";
  readonly #head: CallerHead;

  constructor(user: User, head: CallerHead) {
    this.user = user;
    this.#head = head;
  }

  get hasLeft(): boolean {
    return this.#head.isAbandoned === true;
  }

  /** Only MONITOR and CLIENT read it, so it is built on demand. */
  get address(): string {
    return `${this.#head.remoteAddress}:${this.#head.remotePort}`;
  }
}
