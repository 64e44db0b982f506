/** A real server that copies its data directory, and what its copy gives back. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock } from "../../../src/kernel/clock.ts";
import type { CopyFigures } from "../../../src/program/metrics/copy-figures.ts";
import { type ProgramOptions, type RunningProgram, startProgram } from "../program-process.ts";

/** 32 bytes. */
export const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => 7 * index)).toString("base64");

export interface Places {
  readonly data: string;
  readonly restored: string;
  /** The directory of the copy, and its address. */
  readonly copy: string;
  readonly address: string;
}

/** New directories, which are removed after the test. */
export function placesOf(context: TestContext): Places {
  const root = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const copy = join(root, "copy");
  mkdirSync(copy);
  return { data: join(root, "data"), restored: join(root, "restored"), copy, address: `file://${copy}` };
}

/** Starts a server that copies to an address, and syncs each write before it answers. */
export function startCopied(data: string, address: string, options: ProgramOptions = {}): Promise<RunningProgram> {
  const args = ["--fsync", "always", "--replicate", address, "--replicate-interval", "100ms", "--log-format", "json"];
  return startProgram("serve", {
    ...options,
    args: ["--data-dir", data, ...args, ...(options.args ?? [])],
    env: { LARDER_ADMIN_TOKEN: ADMIN, ...options.env },
  });
}

export const ADMIN = "admin-token-of-the-test";

export async function copyOf({ adminUrl }: RunningProgram): Promise<CopyFigures> {
  const answer = await fetch(`${adminUrl}/v1/stats`, { headers: { authorization: `Bearer ${ADMIN}` } });
  assert.equal(answer.status, 200);
  const { replication } = (await answer.json()) as { replication: CopyFigures };
  return replication;
}

const LOOK_MS = 50;
const LOOKS_MAX = 600;

/** Resolves with the first figures that are as wanted. */
export async function untilCopy(
  server: RunningProgram,
  isWanted: (figures: CopyFigures) => boolean,
): Promise<CopyFigures> {
  let figures = await copyOf(server);
  for (let looks = 0; !isWanted(figures); looks += 1) {
    assert.ok(looks < LOOKS_MAX, JSON.stringify(figures));
    await new Promise<void>((resolve) => void systemClock.after(LOOK_MS, resolve));
    figures = await copyOf(server);
  }
  return figures;
}

/** After a write: resolves when an area has been copied up to a time after this call, and nothing is behind. */
export async function untilComplete(server: RunningProgram): Promise<CopyFigures> {
  const sinceMs = systemClock.nowMs();
  return untilCopy(
    server,
    ({ phase, areas }) =>
      phase === "copying" &&
      areas.length === 3 &&
      areas.some(({ completeTo }) => completeTo !== null && Date.parse(completeTo) >= sinceMs) &&
      areas.every(({ behindBytes }) => behindBytes === 0),
  );
}

export interface AreaTokens {
  readonly store: string;
  readonly vector: string;
  readonly messaging: string;
}

/** The tokens that a first start prints. */
export function tokensOf({ environment }: RunningProgram): AreaTokens {
  return {
    store: environment["UPSTASH_REDIS_REST_TOKEN"] ?? "",
    vector: environment["UPSTASH_VECTOR_REST_TOKEN"] ?? "",
    messaging: environment["QSTASH_TOKEN"] ?? "",
  };
}

const urls = { store: "UPSTASH_REDIS_REST_URL", vector: "UPSTASH_VECTOR_REST_URL", messaging: "QSTASH_URL" } as const;

/** The result of a request to an area, which must succeed. */
export async function send(
  server: RunningProgram,
  tokens: AreaTokens,
  { area, path, body, headers = {} }: AreaRequest,
): Promise<unknown> {
  const answer = await fetch(`${server.environment[urls[area]]}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${tokens[area]}`, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const json: unknown = await answer.json();
  assert.ok(answer.ok, JSON.stringify(json));
  return json;
}

export interface AreaRequest {
  readonly area: keyof AreaTokens;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
