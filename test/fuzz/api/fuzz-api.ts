/**
 * Random requests to all areas, generated from the documents that they serve, and
 * the faults of the answers.
 *
 * A round sends some hundred requests to fresh areas, and its seed determines all
 * of them, so the findings of a round can be reproduced:
 *
 *     npm run fuzz -- api --seed <seed of the round> --rounds 1
 *
 * Operations come in turns, so that each is called in every round; ids lead from
 * answers to later requests.
 */
import type { HttpReply, HttpService, HttpStream } from "../../../src/edge/handler.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { edgeRequest } from "../../harness/messaging-edge.ts";
import { type ReadDocument, type ReadOperation, readDocument } from "./document.ts";
import { Drawer } from "./draw.ts";
import { type Exchange, oracles, type TokenGiven } from "./oracles.ts";
import { type DrawnRequest, drawRequest } from "./requests.ts";
import { READ_ONLY_TOKEN, type Subject, subjects, TOKEN } from "./subjects.ts";

/** The number of calls of each operation in a round. */
const ASKED_PER_OPERATION = 10;
/** After this many requests, time passes. */
const REQUESTS_PER_SPAN = 12;
const spansMs: readonly number[] = [0, 1_000, 20_000, 200_000, 2_500_000];

export interface Finding {
  readonly oracle: string;
  readonly detail: string;
  readonly operation: string;
  readonly seed: number;
  /** The request, as readable text. */
  readonly request: string;
}

export interface Tally {
  requests: number;
  /** By operation, then by status. */
  readonly statuses: Map<string, Map<number, number>>;
  readonly findings: Finding[];
}

export function emptyTally(): Tally {
  return { requests: 0, statuses: new Map(), findings: [] };
}

/** Wraps an area with a fault that the fuzzer must find. */
export type Bend = (area: HttpService) => HttpService;

/** One round over all areas. Adds to the tally; ends early when `isOver` says so. */
export async function runRound(
  seed: number,
  tally: Tally,
  { bend = (area) => area, isOver = () => false }: { readonly bend?: Bend; readonly isOver?: () => boolean } = {},
): Promise<void> {
  for (const make of subjects) {
    await using subject = await make(seed);
    await new Round(subject, bend(subject.area), { seed, tally, isOver }).run();
    if (isOver()) return;
  }
}

interface RoundFacts {
  readonly seed: number;
  readonly tally: Tally;
  readonly isOver: () => boolean;
}

class Round {
  readonly #subject: Subject;
  readonly #area: HttpService;
  readonly #facts: RoundFacts;

  constructor(subject: Subject, area: HttpService, facts: RoundFacts) {
    this.#subject = subject;
    this.#area = area;
    this.#facts = facts;
  }

  async run(): Promise<void> {
    const { seed, tally, isOver } = this.#facts;
    const reply = (await this.#area.handle(edgeRequest("GET /openapi.json", { token: null }))) as HttpReply;
    const document = readDocument(String(reply.body));
    const random = seededRandom(seed);
    const drawer = new Drawer(random, document.resolve, this.#subject);
    for (const { id } of document.operations) {
      const key = `${this.#subject.name} ${id}`;
      if (!tally.statuses.has(key)) tally.statuses.set(key, new Map());
    }
    let askedCount = 0;
    for (let turn = 0; turn < ASKED_PER_OPERATION; turn += 1) {
      for (const operation of shuffled(document.operations, drawer)) {
        if (isOver()) return;
        await this.#ask(operation, document, drawer);
        askedCount += 1;
        if (askedCount % REQUESTS_PER_SPAN === 0) await this.#subject.advance(drawer.oneOf(spansMs));
      }
    }
  }

  async #ask(wanted: ReadOperation, document: ReadDocument, drawer: Drawer): Promise<void> {
    const subject = this.#subject;
    const { tally, seed } = this.#facts;
    const request = drawRequest(wanted, drawer);
    const token = drawToken(wanted, drawer);
    const isWatched = token === "read-only";
    // Running work would change the stored state.
    if (isWatched) await subject.advance(0);
    const before = isWatched ? subject.state() : undefined;
    const sent = `${request.method} ${withToken(request, wanted, token)}`;
    const headers = [...authorization(token), ...request.headers];
    const shown = `${sent.slice(0, 400)} ${JSON.stringify(headers).slice(0, 400)} ${JSON.stringify(request.body.toString("utf8")).slice(0, 400)}`;
    let reply: HttpReply | HttpStream;
    try {
      reply = await this.#area.handle(edgeRequest(sent, { token: null, headers, body: request.body }));
    } catch (fault) {
      const detail = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
      tally.findings.push({ oracle: "no internal error", detail, operation: wanted.id, seed, request: shown });
      return;
    }
    const isStateSame = before === undefined ? undefined : subject.state() === before;
    const operation = operationOf(reply.route, request, wanted, document);
    const exchange: Exchange = {
      subject,
      document,
      operation,
      request,
      token,
      status: reply.status,
      contentType: headerOf(reply, "content-type"),
      text: textOf(reply),
      isStateSame,
    };
    this.#count(exchange);
    let isSound = true;
    for (const { name, judge } of oracles) {
      const detail = judge(exchange);
      if (detail === undefined) continue;
      isSound = false;
      tally.findings.push({ oracle: name, detail, operation: operation.id, seed, request: shown });
    }
    if (isSound && reply.status < 300) learn(drawer, exchange);
  }

  #count({ operation, status }: Exchange): void {
    const { tally } = this.#facts;
    tally.requests += 1;
    const key = `${this.#subject.name} ${operation.id}`;
    const counts = tally.statuses.get(key) ?? new Map<number, number>();
    counts.set(status, (counts.get(status) ?? 0) + 1);
    tally.statuses.set(key, counts);
  }
}

/** Odd values may reach another route than they were drawn for; its name identifies it. */
function operationOf(
  route: string | undefined,
  { method }: DrawnRequest,
  wanted: ReadOperation,
  { operations }: ReadDocument,
): ReadOperation {
  // Only names of messaging have a method: `C17 GET /v2/flowControl`.
  const [, template] = /^\S+ [A-Z]+ (\/\S*)$/.exec(route ?? "") ?? [];
  if (template === undefined) return wanted;
  const pattern = template.replace(/:\w+/g, "{}").replace(/\*$/, "{}");
  const form = (path: string): string => path.replace(/\{\w+\}/g, "{}");
  if (form(wanted.path) === pattern) return wanted;
  return operations.find((other) => form(other.path) === pattern && other.method === method) ?? wanted;
}

function learn(drawer: Drawer, { text, contentType, subject, operation }: Exchange): void {
  if (!contentType.includes("json") || subject.name === "store") return;
  const value: unknown = JSON.parse(text);
  drawer.learn(value);
  // Lists use `name` where paths use a specific name.
  const named = /\{(\w+)\}$/.exec(operation.path)?.[1];
  if (named === undefined && Array.isArray(value)) {
    const kind = { listQueues: "queueName", listUrlGroups: "urlGroupName" }[operation.id];
    if (kind !== undefined)
      for (const { name } of value as readonly { readonly name: string }[]) drawer.remember(kind, name);
  }
}

function drawToken({ token, tokenParameter }: ReadOperation, drawer: Drawer): TokenGiven {
  const draw = drawer.random.unit();
  if (draw < 0.04) return "none";
  if (draw < 0.08) return "wrong";
  if (draw < (token === "standard" ? 0.18 : 0.3)) return "read-only";
  return tokenParameter !== undefined && draw < 0.35 ? "standard in the query" : "standard";
}

function authorization(token: TokenGiven): readonly string[] {
  switch (token) {
    case "standard":
      return ["Authorization", `Bearer ${TOKEN}`];
    case "read-only":
      return ["Authorization", `Bearer ${READ_ONLY_TOKEN}`];
    case "wrong":
      return ["Authorization", "Bearer canary"];
    default:
      return [];
  }
}

function withToken({ target }: DrawnRequest, { tokenParameter = "" }: ReadOperation, token: TokenGiven): string {
  if (token !== "standard in the query") return target;
  return `${target}${target.includes("?") ? "&" : "?"}${tokenParameter}=${TOKEN}`;
}

function headerOf({ headers }: HttpReply | HttpStream, wanted: string): string {
  const index = headers.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === wanted);
  return index < 0 ? "" : (headers[index + 1] ?? "");
}

/** The start of a stream. */
function textOf(reply: HttpReply | HttpStream): string {
  if ("body" in reply) {
    if (typeof reply.body !== "string") return reply.body.toString("utf8");
    return reply.bodyIsBytes === true ? Buffer.from(reply.body, "latin1").toString("utf8") : reply.body;
  }
  let text = "";
  const close = reply.open({
    write(chunk) {
      text += String(chunk);
      return true;
    },
    queuedBytes: 0,
    end: () => {},
    abort: () => {},
  });
  close();
  return text;
}

function shuffled<Value>(values: readonly Value[], drawer: Drawer): readonly Value[] {
  const all = [...values];
  for (let left = all.length; left > 1; left -= 1) {
    const other = drawer.random.below(left);
    [all[left - 1], all[other]] = [all[other] as Value, all[left - 1] as Value];
  }
  return all;
}
