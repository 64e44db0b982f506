/**
 * Random and hostile streams of HTTP/1 requests: several requests one after the
 * other, of which half have been changed in some bytes, and cut in any places.
 */
import type { Random } from "../../../src/kernel/random.ts";
import { mutate } from "../mutation.ts";

/** Of each list the first three are what every reader takes. */
const USUAL_COUNT = 3;
const names = [
  "X",
  "Upstash-Sync-Token",
  "Accept",
  "Host",
  "Content-Length",
  "Transfer-Encoding",
  "Connection",
  "Expect",
  "content-length",
];
const values = [
  "a",
  "4",
  "8",
  "chunked",
  "Chunked",
  "gzip, chunked",
  "close",
  "keep-alive",
  "100-continue",
  "",
  " b ",
  "\t",
  "0",
  "+4",
  "4, 4",
  "\x0bchunked",
  "\xa0chunked",
  "a, \xa0close",
  "caf\xe9",
  "a\x00b",
  "a\x7fb",
];
const methods = ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "M-SEARCH", "NOTHING", "get", "CONNECT", "PRI"];
const targets = ["/", "/set/k/v", "/a?b=c", "*", "http://a/b", "/a#b", "/a b", "/\xe9", "a:1", ""];

export interface StreamShape {
  /** Requests of a stream, at most. */
  readonly requestsMax: number;
  /** One request of so many may have any method, target and field; the others have usual ones. */
  readonly hostileOneOf: number;
}

/** A reader refuses about a third of these requests, so long streams would be cut off early. */
const SHORT: StreamShape = { requestsMax: 4, hostileOneOf: 1 };

export function drawStream(random: Random, { requestsMax, hostileOneOf }: StreamShape = SHORT): string {
  const requests = Array.from({ length: 1 + random.below(requestsMax) }, () =>
    drawRequest(random, random.below(hostileOneOf) === 0),
  );
  const stream = requests.join("");
  return random.below(2) === 0 ? stream : mutate(stream, { signs: SIGNS, changesMax: 3 }, random);
}

function drawRequest(random: Random, isHostile: boolean): string {
  const draw = <T>(rows: readonly T[], favourites = rows.length): T =>
    isHostile ? pick(random, rows, favourites) : (rows[random.below(USUAL_COUNT)] as T);
  const line = `${draw(methods, USUAL_COUNT)} ${draw(targets, USUAL_COUNT)} HTTP/1.${random.below(10) === 0 ? 0 : 1}\r\n`;
  const fields = ["Host: a\r\n"];
  const body = "x".repeat(random.below(20));
  const kind = random.below(5);
  if (kind === 1) fields.push(`Content-Length: ${body.length}\r\n`);
  if (kind === 2) fields.push("Transfer-Encoding: chunked\r\n");
  if (kind === 3) fields.push(`${draw(names)}: ${draw(values)}\r\n`);
  if (random.below(20) === 0) fields.push(`X: ${"y".repeat(random.below(5) === 0 ? 4_000 : random.below(300))}\r\n`);
  const trailer = (): string => (random.below(3) === 0 ? `${draw(names)}: ${draw(values)}\r\n` : "T: v\r\n");
  const end = kind === 1 ? body : kind === 2 ? chunksOf(body, trailer, random) : "";
  return `${line}${fields.join("")}\r\n${end}`;
}

function chunksOf(body: string, trailer: () => string, random: Random): string {
  const at = random.below(body.length + 1);
  const chunk = (text: string): string =>
    text === ""
      ? ""
      : `${text.length.toString(16)}${pick(random, ["", "", "", ";a=b", ";a", ';a="b;\\""', ";a=b;c=d", "; a", ";"], 4)}\r\n${text}\r\n`;
  return `${chunk(body.slice(0, at))}${chunk(body.slice(at))}0\r\n${random.below(5) === 0 ? trailer() : ""}\r\n`;
}

const SIGNS = "\r\n :;,\t\x00\x0b\x7f\xa0\xff0123456789aAfFGET/?#Content-Length: 4\r\n";

/** Half of the streams are cut once or twice, and some into single bytes. */
export function cut(bytes: Buffer, random: Random): Buffer[] {
  const kind = random.below(8);
  const lengthMax = kind === 0 ? 1 : kind < 4 ? 1 + random.below(40) : bytes.length;
  const packets: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + random.below(lengthMax);
    packets.push(bytes.subarray(at, at + length));
    at += length;
  }
  return packets;
}

function pick<T>(random: Random, rows: readonly T[], favourites = rows.length): T {
  return rows[random.below(random.below(4) === 0 ? rows.length : favourites)] as T;
}
