/**
 * What the way through another node costs: HTTP requests that a front passes on to
 * the owner, and RESP connections that it passes on, against both at the owner.
 *
 * One connection shows the time that the way adds; 32 show rates, in turn, and the
 * processor time of both nodes for each operation. All processes share the machine, so a
 * rate through the front is lower because owner and front take from the same
 * cores. `by processor time` is the ratio with a machine for each: of the owner's
 * time for each operation directly to the larger of the times of owner and front through it, and
 * `of both nodes` to their sum: what the cores that both share give, without the load generator.
 * `64 x 16` has 64 connections, each with a packet of 16 commands. `SET` waits for a commit in PostgreSQL, `GET` for nothing.
 */
import { httpRequest } from "../harness/http-load.ts";
import { RawClient } from "../harness/raw-client.ts";
import { type Spread, spreadOf } from "../harness/statistics.ts";
import { figure, spreadText, table } from "../harness/table.ts";
import { type PeerNode, type PeerOptions, startPeer, until } from "./cluster-peers.ts";
import { runResp } from "./resp-client.ts";

const CONNECTIONS = 32;
const MANY_CONNECTIONS = 64;
const PACKET_COMMANDS = 16;
const VALUE = "v".repeat(100);
const RATE_GOAL = 0.55;
const ADDED_MS_GOAL = 1;

interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly requests: number;
}

interface Subject {
  readonly name: string;
  /** Those of the rates. */
  readonly connections: number;
  run(node: PeerNode, connections: number, seconds: number): Promise<Measured>;
}

interface Round {
  /** Of one connection. */
  readonly p50Ms: number;
  readonly perSecond: number;
  readonly ownerUs: number;
  readonly frontUs: number;
}

/** `subject`: a part of the names of those that are measured; absent: all. */
export async function measureHops(
  options: PeerOptions & { readonly subject?: string },
  token: string,
): Promise<string> {
  const owner = await startPeer(options, "owner");
  const subjects = [
    httpSubject("SET over HTTP", ["SET", "key", VALUE], token),
    httpSubject("GET over HTTP", ["GET", "key"], token),
    respSubject({ name: "SET over RESP", words: ["SET", "key", VALUE], password: token }),
    respSubject({ name: "GET over RESP", words: ["GET", "key"], password: token }),
    ...[1, PACKET_COMMANDS].flatMap((depth) => {
      const many = { password: token, connections: MANY_CONNECTIONS, depth };
      const size = `${MANY_CONNECTIONS} x ${depth}`;
      return [
        respSubject({ name: `SET over RESP, ${size}`, words: ["SET", "key", VALUE], ...many }),
        respSubject({ name: `GET over RESP, ${size}`, words: ["GET", "key"], ...many }),
      ];
    }),
  ].filter(({ name }) => options.subject === undefined || name.includes(options.subject));
  await until(() => answers(owner, subjects[0] as Subject));
  const front = await startPeer(options, "front");
  await until(() => answers(front, subjects[0] as Subject));
  const rounds = subjects.map((): [direct: Round[], through: Round[]] => [[], []]);
  for (let round = 0; round < options.rounds; round += 1)
    for (const [i, subject] of subjects.entries())
      for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const))
        rounds[i]?.[side].push(await measure(subject, { owner, front, isThrough: side === 1 }, options.seconds));
  await front.process.stop();
  await owner.process.stop();
  return printed(subjects, rounds);
}

async function answers(node: PeerNode, { run }: Subject): Promise<true | undefined> {
  try {
    await run(node, 1, 0.1);
    return true;
  } catch {
    return undefined;
  }
}

function httpSubject(name: string, words: readonly string[], token: string): Subject {
  const headers = [
    ["host", "127.0.0.1"],
    ["authorization", `Bearer ${token}`],
  ] as const;
  const requests = [httpRequest({ method: "POST", path: "/", headers, body: JSON.stringify(words) })];
  return {
    name,
    connections: CONNECTIONS,
    run: async ({ ports }, connections, seconds) => {
      const client = new RawClient({ port: ports.store, connections, requests });
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      client.stop();
      const { requests: count, durationMs, p50Ms, failed, failure } = await client.done;
      if (failed > 0) throw new Error(`${name} failed: ${failure}`);
      return { perSecond: (count * 1_000) / durationMs, p50Ms, requests: count };
    },
  };
}

interface RespSubject extends Pick<Subject, "name"> {
  readonly words: readonly string[];
  readonly password: string;
  readonly connections?: number;
  readonly depth?: number;
}

function respSubject({ name, words, password, connections: many = CONNECTIONS, depth = 1 }: RespSubject): Subject {
  return {
    name,
    connections: many,
    run: ({ ports }, connections, seconds) =>
      runResp({ port: ports.resp, password, connections, words, depth, seconds }),
  };
}

async function measure(
  { name, connections, run }: Subject,
  { owner, front, isThrough }: { owner: PeerNode; front: PeerNode; isThrough: boolean },
  seconds: number,
): Promise<Round> {
  const node = isThrough ? front : owner;
  const { p50Ms } = await run(node, 1, seconds);
  const cpuMs = (): readonly number[] => [owner, front].map(({ process }) => process.cpuMs() ?? Number.NaN);
  const before = cpuMs();
  const { perSecond, requests } = await run(node, connections, seconds);
  const [ownerUs = Number.NaN, frontUs = Number.NaN] = cpuMs().map(
    (ms, i) => ((ms - (before[i] ?? Number.NaN)) * 1_000) / requests,
  );
  console.error(
    `${name} ${isThrough ? "through the front" : "directly"}: ${figure(perSecond)}/s, p50 ${figure(p50Ms)} ms`,
  );
  return { p50Ms, perSecond, ownerUs, frontUs };
}

function printed(subjects: readonly Subject[], rounds: readonly (readonly [Round[], Round[]])[]): string {
  const spread = (list: readonly Round[], read: (round: Round) => number): string =>
    spreadText(spreadOf(list.map(read)));
  const figures = subjects.flatMap(({ name }, i) =>
    (rounds[i] ?? []).map((list, side) => [
      `${name}, ${side === 0 ? "directly" : "through a front"}`,
      spread(list, ({ p50Ms }) => p50Ms * 1_000),
      spread(list, ({ perSecond }) => perSecond),
      spread(list, ({ ownerUs }) => ownerUs),
      side === 0 ? "" : spread(list, ({ frontUs }) => frontUs),
    ]),
  );
  const ratios = subjects.map(({ name }, i) => {
    const [direct = [], through = []] = rounds[i] ?? [];
    const pairs = through.flatMap((round, index) => {
      const before = direct[index];
      return before === undefined ? [] : [[before, round] as const];
    });
    const rate = spreadOf(pairs.map(([before, round]) => round.perSecond / before.perSecond));
    const work = spreadOf(pairs.map(([before, round]) => before.ownerUs / Math.max(round.ownerUs, round.frontUs)));
    const both = spreadOf(pairs.map(([before, round]) => before.ownerUs / (round.ownerUs + round.frontUs)));
    const added = spreadOf(pairs.map(([before, round]) => round.p50Ms - before.p50Ms));
    return [
      name,
      `${ratioText(added)}${added.median <= ADDED_MS_GOAL ? "" : " NOT MET"}`,
      `${ratioText(rate)}${rate.median >= RATE_GOAL ? "" : " NOT MET"}`,
      ratioText(work),
      ratioText(both),
    ];
  });
  const head = [
    "1 connection, then 32 or 64",
    "p50 µs of 1",
    "per second of many",
    "µs of the owner",
    "µs of the front",
  ];
  const goals = [
    "through a front",
    `ms added to p50 of 1 (goal: at most ${ADDED_MS_GOAL})`,
    `rate of many (goal: at least ${RATE_GOAL} of directly)`,
    "by processor time",
    "of both nodes",
  ];
  return `${table(head, figures)}\n\n${table(goals, ratios)}`;
}

function ratioText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} [${min.toFixed(2)} to ${max.toFixed(2)}]`;
}
