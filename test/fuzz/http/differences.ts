/**
 * The differences on purpose between our reader of HTTP and Node's.
 *
 * (1) Where ours refuses a spelling that Node's accepts, a row of `repairs` spells it
 *     as both accept it. Ours must then see in the whole repaired stream what Node's
 *     sees in the stream as it came.
 * (2) Where Node's refuses and ours does not, a row of `refusals` says why. Both have
 *     seen the same requests before.
 * (3) Three differences have code instead of a row: an expectation that both accept and
 *     understand in different ways, a tab that Node refuses within a head, and a trailer
 *     after which Node ends the connection. The last two are repaired for Node.
 */
import { METHODS } from "node:http";
import { areSameRequests, isSame, type Reading, read } from "./readings.ts";

/** More than the changes of a stream. */
const REPAIRS_MAX = 10;

/** The reasons why ours and Node's reading of a stream differ; undefined if no row says so. */
export async function reasonsOf(
  bytes: Buffer,
  whole: Reading,
  theirs: Reading,
): Promise<readonly string[] | undefined> {
  for (const { reason, understood, accepted } of repairsForNode) {
    const text = bytes.latin1Slice();
    if (theirs.end === "open" || text.search(understood) < 0) continue;
    const repaired = Buffer.from(text.replaceAll(understood, accepted), "latin1");
    const [ours, node] = [await read("larder", [repaired]), await read("node", [repaired])];
    const others = await reasonsOf(repaired, ours, node);
    return others === undefined ? undefined : [reason, ...others];
  }
  const reasons: string[] = [];
  let text = bytes.latin1Slice();
  let ours = whole;
  for (let i = 0; i <= REPAIRS_MAX; i += 1) {
    if (expectAlike(ours, theirs)) reasons.push(EXPECTATION_REASON);
    if (isSame(ours, theirs)) return reasons;
    const repaired = Buffer.from(text, "latin1");
    for (const { reason, explains } of refusals)
      if (await explains(ours, theirs, repaired)) return [...reasons, reason];
    if (ours.end !== "refused") return undefined;
    const repair = repairOf(text, await readEachByte(repaired));
    if (repair === undefined) return undefined;
    reasons.push(repair.reason);
    text = repair.text;
    ours = await read("larder", [Buffer.from(text, "latin1")]);
  }
  return undefined;
}

/** In packets of one byte, so that the reading says at which byte it was refused. */
function readEachByte(bytes: Buffer): Promise<Reading> {
  const packets = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  return read("larder", packets);
}

/** What only Node takes for the end of a connection, and a spelling that it accepts as we do. */
const repairsForNode = [
  {
    reason: "Node refuses a tab after chunked, and we do not",
    understood: /(\nTransfer-Encoding:[ \t]*chunked)[ \t]*\t[ \t]*(?=\r\n)/gi,
    accepted: "$1",
  },
  {
    reason: "Node ends a connection after Connection: close in trailers, and we drop them",
    understood: /(\n0+(?:;[^\r\n]*)?\r\n(?:[^\r\n:]+:[^\r\n]*\r\n)*?)(?:Proxy-)?Connection(?=:[^\r\n]*close)/gi,
    accepted: "$1X",
  },
];

const EXPECTATION_REASON = "we know an expectation only if it is 100-continue alone, and Node if it contains that";

/** Takes expectations of ours as Node does. False if Node understands none in another way. */
function expectAlike(ours: Reading, theirs: Reading): boolean {
  let isChanged = false;
  for (const [i, our] of ours.requests.entries()) {
    if (our.expectation !== "unknown" || theirs.requests[i]?.expectation !== "continue") continue;
    const value = our.rawHeaders[our.rawHeaders.findLastIndex((text) => text.toLowerCase() === "expect") + 1] ?? "";
    if (!/(?:^|\W)100-continue(?:$|\W)/i.test(value)) continue;
    our.expectation = "continue";
    isChanged = true;
  }
  return isChanged;
}

interface Repair {
  readonly reason: string;
  /** The line that was refused and all bytes after it. */
  readonly refused: RegExp;
  readonly accepted: string;
}

const repairs: readonly Repair[] = [
  {
    reason: "we refuse two spaces in a request line, and Node does not",
    refused: /^([A-Z-]+) +([^ \r\n]+) +(HTTP\/1\.[01]\r\n)/,
    accepted: "$1 $2 $3",
  },
  {
    reason: "we refuse a bare line feed or carriage return before a request line, and Node does not",
    refused: /^(?:\n|\r(?!\n))+/,
    accepted: "",
  },
  {
    reason: "we refuse an extension of a chunk without a name or a value, and Node does not",
    refused: /^([0-9a-f]{1,8})(?:;[^;=\r\n]*(?:=[^;\r\n]*)?)*?(?:;(?=[;=\r])|;[^;=\r\n]+=(?=[;\r]))[^\r\n]*\r\n/i,
    accepted: "$1\r\n",
  },
  {
    reason: "we refuse a quoted text within the value of an extension, and Node does not",
    refused: /^([0-9a-f]{1,8});[^\r\n]*=[^;"\r\n]+"[^\r\n]*\r\n/i,
    accepted: "$1\r\n",
  },
  {
    // RFC 9110 section 6.5.1. Both refuse Content-Length and Transfer-Encoding there.
    reason: "we refuse Host in trailers, and Node drops it",
    refused: /^h(?=ost:)/i,
    accepted: "X",
  },
];

function repairOf(
  text: string,
  { completeBytes, refusedBytes }: Reading,
): { reason: string; text: string } | undefined {
  const lineStart = Math.max(completeBytes, text.slice(0, refusedBytes - 1).lastIndexOf("\n") + 1);
  const line = text.slice(lineStart);
  for (const { reason, refused, accepted } of repairs)
    if (refused.test(line)) return { reason, text: text.slice(0, lineStart) + line.replace(refused, accepted) };
  return undefined;
}

interface Refusal {
  readonly reason: string;
  readonly explains: (ours: Reading, theirs: Reading, bytes: Buffer) => boolean | Promise<boolean>;
}

/**
 * Ends of a head that stopped anywhere: in its last line end, in a value, in a name, or in the request line, with the
 * Host that the head may need. After a head that Node has refused, none of them makes a request.
 */
const restsOfHead = ["\n", "\r\n", ": a\r\n", " HTTP/1.1\r\n", "1.1\r\n", " / HTTP/1.1\r\n"].flatMap((rest) => [
  `${rest}\r\n`,
  `${rest}Host: a\r\n\r\n`,
]);

const refusals: readonly Refusal[] = [
  {
    reason: "Node refuses bytes after the last request of a connection, and we do not read them",
    explains: (ours, theirs) => haveSameRequests(ours, theirs) && ours.end === "closed" && theirs.end === "refused",
  },
  {
    reason: "Node ends a connection after Proxy-Connection: close, and we do not know that field",
    explains: (ours, theirs) => {
      const count = theirs.requests.length;
      const last = theirs.requests[count - 1]?.rawHeaders ?? [];
      const isEnd = last.some((name, i) => /^proxy-connection$/i.test(name) && /\bclose\b/i.test(last[i + 1] ?? ""));
      return isEnd && theirs.end !== "open" && areSameRequests(ours.requests.slice(0, count), theirs.requests);
    },
  },
  {
    reason: "Node refuses a method that it does not know, and we leave that to the route",
    explains: (ours, theirs) => {
      const count = theirs.requests.length;
      const next = ours.requests[count];
      if (theirs.end !== "refused" || next === undefined || METHODS.includes(next.method)) return false;
      return areSameRequests(ours.requests.slice(0, count), theirs.requests);
    },
  },
  {
    reason: "Node refuses within a head, and we at the end of a line or of the head",
    explains: async (ours, theirs, bytes) => {
      if (!haveSameRequests(ours, theirs) || ours.end !== "open" || theirs.end !== "refused") return false;
      for (const rest of restsOfHead) {
        const { end, requests } = await read("larder", [bytes, Buffer.from(rest)]);
        const further = requests[ours.requests.length];
        if (end === "open" && further === undefined) return false;
        if (further !== undefined && METHODS.includes(further.method)) return false;
      }
      return true;
    },
  },
  {
    reason: "we refuse a request line without a version at its end, and Node (HTTP/0.9) after the head",
    explains: async (ours, theirs, bytes) =>
      haveSameRequests(ours, theirs) &&
      ours.end === "refused" &&
      theirs.end === "open" &&
      (await read("node", [bytes, Buffer.from("\n\r\n\r\n")])).end === "refused",
  },
];

function haveSameRequests(ours: Reading, theirs: Reading): boolean {
  return areSameRequests(ours.requests, theirs.requests);
}
