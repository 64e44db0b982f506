/**
 * The areas under test by the fuzzer: in this process, without sockets, in
 * virtual time, each with data of another tenant beside the caller's.
 */
import { createHash } from "node:crypto";
import { TokenTable } from "../../../src/edge/auth.ts";
import type { HttpService } from "../../../src/edge/handler.ts";
import { MessagingArea } from "../../../src/edge/messaging/area.ts";
import { withOpenApi } from "../../../src/edge/openapi/area.ts";
import { areaDocument } from "../../../src/edge/openapi/area-documents.ts";
import { REPLY_BYTES_MAX, REQUEST_BYTES_MAX, StoreArea } from "../../../src/edge/store/routes.ts";
import { SyncTokens } from "../../../src/edge/store/sync-token.ts";
import { VectorArea } from "../../../src/edge/vector/area.ts";
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { createLog } from "../../../src/kernel/log.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { Turns } from "../../../src/kernel/turns.ts";
import { defaultLimits } from "../../../src/messaging/limits.ts";
import { MemoryHistory } from "../../../src/program/history/memory-history.ts";
import { messageLog } from "../../../src/program/history/message-log.ts";
import { Store } from "../../../src/store/mod.ts";
import type { IndexDefinition } from "../../../src/vector/index/definition.ts";
import { VectorEngine } from "../../../src/vector/index/vector-engine.ts";
import { defaultVectorLimits } from "../../../src/vector/limits.ts";
import { luaOptions } from "../../harness/lua.ts";
import { edgeRequest } from "../../harness/messaging-edge.ts";
import { answered, MessagingHarness } from "../../harness/messaging-harness.ts";
import { RecordingJournal } from "../../harness/recording-journal.ts";
import { embeddersOf } from "../../simulation/vector/programs/drawn-models.ts";

export const TOKEN = "canary-standard-token";
export const READ_ONLY_TOKEN = "canary-read-only-token";

export interface Subject extends AsyncDisposable {
  readonly name: "store" | "vector" | "messaging";
  readonly area: HttpService;
  /** Of dense vectors. */
  readonly dimension: number;
  /** Texts that no answer may contain, except those of some operations. */
  readonly canaries: readonly Canary[];
  /** A digest of the stored state. */
  state(): string;
  /** Continues running work, and advances time by `ms`. */
  advance(ms: number): Promise<void>;
}

export interface Canary {
  readonly text: string;
  /** Operations whose answers contain it. */
  readonly allowedIn: readonly string[];
}

const secret = (text: string, ...allowedIn: readonly string[]): Canary => ({ text, allowedIn });
const tokenCanaries: readonly Canary[] = [secret(TOKEN), secret(READ_ONLY_TOKEN)];

/** Data of another tenant: another database, index or user. */
const FOREIGN = "canary-of-another-tenant";

export const subjects: readonly ((seed: number) => Promise<Subject>)[] = [
  storeSubject,
  vectorSubject,
  messagingSubject,
];

function tokenTable(): TokenTable {
  const tokens = new TokenTable(Buffer.alloc(32, 5));
  tokens.replaceTenant("main", [
    { token: TOKEN, access: "standard" },
    { token: READ_ONLY_TOKEN, access: "read-only" },
  ]);
  tokens.replaceTenant("other", [{ token: `${FOREIGN}-token`, access: "standard" }]);
  return tokens;
}

function documented(area: HttpService, name: Subject["name"]): HttpService {
  return withOpenApi(area, { cors: true, print: async () => areaDocument(name, "0.0.0") });
}

function digest(frames: Iterable<Uint8Array>): string {
  const hash = createHash("sha256");
  for (const frame of frames) hash.update(frame);
  return hash.digest("hex");
}

async function storeSubject(seed: number): Promise<Subject> {
  const clock = new VirtualClock();
  const store = new Store({
    journal: new RecordingJournal(),
    clock,
    random: seededRandom(seed),
    hashSeed: Buffer.alloc(8, 1),
    dailyRequestsMax: 0,
    lua: luaOptions,
  });
  const tokens = tokenTable();
  const area = new StoreArea({
    store,
    tokens,
    syncTokens: new SyncTokens("boot"),
    cors: true,
    queryToken: true,
    requestBytesMax: REQUEST_BYTES_MAX,
    replyBytesMax: REPLY_BYTES_MAX,
    clock,
  });
  const headers = ["Authorization", `Bearer ${FOREIGN}-token`];
  // A start creates every database that has tokens.
  store.database("main");
  await area.handle(edgeRequest(`POST /set/k/${FOREIGN}`, { token: null, headers }));
  return {
    name: "store",
    area: documented(area, "store"),
    dimension: 0,
    canaries: [...tokenCanaries, secret(FOREIGN)],
    // Any access removes expired values.
    state() {
      for (const database of store.databases) while (database.sweepExpired() > 0);
      return digest(store.dump());
    },
    advance: (ms) => clock.advanceAsync(ms),
    async [Symbol.asyncDispose]() {},
  };
}

const DIMENSION = 3;
const similarity = "COSINE";
const definitions: readonly IndexDefinition[] = [
  { type: "HYBRID", dimension: DIMENSION, similarity, denseModel: "BGE_M3", sparseModel: "BM25" },
  { type: "DENSE", dimension: DIMENSION, similarity, denseModel: undefined, sparseModel: undefined },
  { type: "SPARSE", dimension: undefined, similarity, denseModel: undefined, sparseModel: "BM25" },
];

async function vectorSubject(seed: number): Promise<Subject> {
  const clock = new VirtualClock();
  let handleCount = 0;
  const engine = new VectorEngine({
    journal: new RecordingJournal(),
    clock,
    random: seededRandom(seed),
    limits: defaultVectorLimits,
    graphs: undefined,
    newHandle: () => {
      handleCount += 1;
      return `handle-${handleCount}`;
    },
  });
  const definition = definitions[seed % definitions.length] as IndexDefinition;
  for (const name of ["main", "other"])
    engine.define(
      name,
      definition,
      embeddersOf(definition, async () => {}),
    );
  const area = new VectorArea({
    vector: engine,
    tokens: tokenTable(),
    cors: true,
    limits: defaultVectorLimits,
    clock,
    turns: new Turns({ clock }),
  });
  const headers = ["Authorization", `Bearer ${FOREIGN}-token`];
  const parts = {
    ...(definition.type !== "SPARSE" && { vector: [1, 2, 3] }),
    ...(definition.type !== "DENSE" && { sparseVector: { indices: [1], values: [1] } }),
  };
  const body = { id: "a", ...parts, data: FOREIGN };
  await area.handle(edgeRequest("POST /upsert", { token: null, headers, body }));
  return {
    name: "vector",
    area: documented(area, "vector"),
    dimension: DIMENSION,
    canaries: [...tokenCanaries, secret(FOREIGN)],
    state: () => digest(engine.dump()),
    advance: (ms) => clock.advanceAsync(ms),
    async [Symbol.asyncDispose]() {
      engine.close();
    },
  };
}

const KEYS = { current: "sig_canary_current", next: "sig_canary_next" };
const REDACTED = "canary-that-is-redacted";
const FAILED_COUNT = 10;
const LOG_RETENTION_MS = 14 * 86_400_000;

async function messagingSubject(seed: number): Promise<Subject> {
  const harness = new MessagingHarness();
  const { clock, journal, messaging } = harness;
  await messaging.createUser("main", KEYS);
  await messaging.createUser("other", { current: `${FOREIGN}-current`, next: `${FOREIGN}-next` });
  messaging.engine.start();
  const random = seededRandom(seed);
  harness.destination = ({ url }) => {
    const draw = url.includes("//d.test") ? 8 : random.below(10);
    if (draw < 5) return answered(200, ["Upstash-Workflow-Sdk", "1.3.0"], "done");
    return draw < 9 ? answered(500, [], "broken") : answered(489, ["Upstash-NonRetryable-Error", "true"]);
  };
  const log = createLog({ level: "error", format: "json", clock, sink: () => {} });
  const history = await MemoryHistory.open({ retentionMs: LOG_RETENTION_MS, log, clock });
  let appended = 0;
  harness.logReader = messageLog(
    async (query) => {
      for (; appended < journal.end; appended += 1)
        history.append(journal.frames[appended] ?? Buffer.alloc(0), appended + 1);
      return history.list(query);
    },
    () => journal.end,
  );
  const area = new MessagingArea({
    messaging: { user: (name) => messaging.user(name) },
    tokens: tokenTable(),
    queryToken: true,
    limits: defaultLimits,
    clock,
    turns: new Turns({ clock }),
    destinations: (url) => (url.hostname === "refused.test" ? "The destination refused.test is refused" : undefined),
  });
  const publish = (headers: readonly string[], body: string): unknown =>
    area.handle(edgeRequest("POST /v2/publish/https://a.test/", { token: null, headers, body }));
  await publish(["Authorization", `Bearer ${FOREIGN}-token`, "Service-Label", FOREIGN], FOREIGN);
  const redact = ["Service-Redact-Fields", "body,headers", "Service-Forward-X-Secret", REDACTED];
  await publish(["Authorization", `Bearer ${TOKEN}`, ...redact], REDACTED);
  // Failed runs. Their failure calls fail too: at once, or repeatedly.
  const failing = ["Service-Retries", "0", "Service-Failure-Callback", "https://d.test/"];
  for (let count = 0; count < FAILED_COUNT; count += 1) {
    const retries = ["Service-Failure-Callback-Retries", count % 2 === 0 ? "0" : "9"];
    const headers = ["Authorization", `Bearer ${TOKEN}`, ...failing, ...retries];
    await area.handle(edgeRequest("POST /v2/trigger/https://d.test/", { token: null, headers }));
  }
  await harness.advance(1_000);
  return {
    name: "messaging",
    area: documented(area, "messaging"),
    dimension: 0,
    canaries: [
      ...tokenCanaries,
      secret(FOREIGN),
      secret(REDACTED),
      secret(Buffer.from(REDACTED).toString("base64")),
      secret(Buffer.from(FOREIGN).toString("base64")),
      secret(KEYS.current, "getSigningKeys", "rotateSigningKeys"),
      secret(KEYS.next, "getSigningKeys", "rotateSigningKeys"),
    ],
    state: () => digest(messaging.dump()),
    advance: (ms) => harness.advance(ms),
    async [Symbol.asyncDispose]() {
      messaging.engine.stop();
      await history.close();
    },
  };
}
