/** The routes on a fake engine: waiting replies, thrown errors and the calls on the engine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { Turns } from "../../kernel/turns.ts";
import { CommandError, databaseIsMoving } from "../../store/errors.ts";
import { type Caller, type CommandRequest, type Database, type Reply, TransactionDiscarded } from "../../store/mod.ts";
import type { ReplyPrinter } from "../../store/reply/mod.ts";
import { errorReply, ok } from "../../store/reply/reply.ts";
import { TokenTable } from "../auth.ts";
import type { HttpReply, HttpRequest, HttpStream } from "../handler.ts";
import { RateLimiter } from "../limits/rate-limit.ts";
import { StoreArea, type StoreAreaOptions, storeRoutes } from "./routes.ts";
import { SyncTokens } from "./sync-token.ts";

interface Engine {
  command?(caller: Caller, request: CommandRequest): Reply | Promise<Reply>;
  pipeline?(caller: Caller, requests: readonly CommandRequest[]): readonly Reply[] | Promise<readonly Reply[]>;
  transaction?(caller: Caller, requests: readonly CommandRequest[]): readonly Reply[] | Promise<readonly Reply[]>;
}

function area(engine: Engine, options: Partial<StoreAreaOptions> = {}): StoreArea {
  const tokens = new TokenTable(Buffer.alloc(32, 1));
  tokens.add("token", { tenant: "main", access: "standard" });
  const turns = new Turns({ clock: new VirtualClock() });
  const database = {
    ...engine,
    turn: turns.tenant("store", "main"),
    activity: { addInput: () => {}, addOutput: () => {} },
    // The engine prints a reply that is available, or a later one.
    printCommand: (caller: Caller, words: CommandRequest, printer: ReplyPrinter<unknown>) =>
      settle(engine.command?.(caller, words), (reply) => print(printer, reply as Reply)),
    printTransaction: (caller: Caller, commands: CommandRequest[], printAll: (replies: readonly Reply[]) => unknown) =>
      settle(engine.transaction?.(caller, commands), (replies) => printAll(replies as readonly Reply[])),
    printPipeline: (caller: Caller, commands: CommandRequest[], printer: ReplyPrinter<number>) =>
      settle(engine.pipeline?.(caller, commands), (replies) => {
        for (const reply of replies as readonly Reply[]) print(printer, reply);
        return undefined;
      }),
  };
  return new StoreArea({
    store: { database: () => database as unknown as Database },
    tokens,
    syncTokens: new SyncTokens("boot"),
    cors: true,
    queryToken: true,
    requestBytesMax: 1_000,
    replyBytesMax: 100,
    clock: new VirtualClock(),
    ...options,
  });
}

/** As the engine prints the reply of a command that has changed nothing. */
function print(printer: ReplyPrinter<unknown>, reply: Reply): unknown {
  try {
    return printer.print(reply);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return printer.printDone(errorReply(error));
  }
}

function settle<Value>(value: Value | Promise<Value>, next: (value: Value) => unknown): unknown {
  return value instanceof Promise ? value.then(next) : next(value);
}

function request(target: string, body: string, headers: readonly string[] = []): HttpRequest {
  return {
    method: "POST",
    target,
    header: () => undefined,
    rawHeaders: ["Authorization", "Bearer token", ...headers],
    body: Buffer.from(body),
    remoteAddress: "10.0.0.7",
    remotePort: 4_000,
    id: "x-1",
  };
}

/** The reply, not a stream. */
function whole(reply: HttpReply | HttpStream): HttpReply {
  assert.ok(!("open" in reply), "the reply is no stream");
  return reply;
}

test("answers at once with a reply that is available", () => {
  const answer = area({ command: () => ok }).handle(request("/", '["PING"]'));
  assert.ok(!(answer instanceof Promise));
  const reply = whole(answer);
  assert.equal(reply.body, '{"result":"OK"}');
  assert.equal(reply.route, "A2 /");
});

test("answers with a late reply or error when it arrives", async () => {
  const later = area({
    command: async () => errorReply(new CommandError("ERR late")),
    pipeline: async () => ["a", 1],
    transaction: async () => [ok],
  });
  const command = whole(await later.handle(request("/", '["PING"]')));
  assert.deepEqual([command.status, command.body], [400, '{"error":"ERR late"}']);
  const pipeline = whole(await later.handle(request("/pipeline", '[["A"],[],["B"]]')));
  assert.equal(pipeline.body, '[{"result":"a"},{"error":"ERR empty pipeline command"},{"result":1}]');
  const transaction = whole(await later.handle(request("/multi-exec", '[["A"]]')));
  assert.equal(transaction.body, '[{"result":"OK"}]');
});

test("a command or a transaction that a database refuses while it moves is 503 with Retry-After", async () => {
  const text = "TRYAGAIN Writes are refused: the data is moving to another shard; try again";
  const moving = area({
    command: () => errorReply(databaseIsMoving),
    pipeline: () => ["a", errorReply(databaseIsMoving)],
    transaction: () => {
      throw new TransactionDiscarded(databaseIsMoving);
    },
  });
  for (const [path, body] of [
    ["/", '["SET","k","v"]'],
    ["/multi-exec", '[["SET","k","v"]]'],
  ] as const) {
    const { status, headers, body: answer } = whole(await moving.handle(request(path, body)));
    assert.deepEqual([status, answer], [503, JSON.stringify({ error: text })], path);
    assert.equal(headers[headers.indexOf("Retry-After") + 1], "1");
  }
  const pipeline = whole(await moving.handle(request("/pipeline", '[["GET","k"],["SET","k","v"]]')));
  assert.deepEqual([pipeline.status, pipeline.body], [200, JSON.stringify([{ result: "a" }, { error: text }])]);
});

test("a discarded transaction is 400 with its first error, thrown early or late", async () => {
  const discarded = new TransactionDiscarded(new CommandError("ERR no"));
  for (const engine of [
    {
      transaction: (): never => {
        throw discarded;
      },
    },
    { transaction: () => Promise.reject(discarded) },
  ]) {
    const reply = whole(await area(engine).handle(request("/multi-exec", '[["A"]]')));
    assert.deepEqual([reply.status, reply.body], [400, '{"error":"ERR no"}']);
  }
});

test("an internal error of the engine is passed to the transport", async () => {
  const fault = new Error("bug");
  const throwing = area({
    command() {
      throw fault;
    },
    pipeline: () => Promise.reject(fault),
  });
  assert.throws(() => throwing.handle(request("/", '["PING"]')), fault);
  await assert.rejects(async () => throwing.handle(request("/pipeline", '[["PING"]]')), fault);
});

test("a late reply beyond the budget is an error", async () => {
  const reply = whole(await area({ command: async () => "x".repeat(200) }).handle(request("/", '["GET","k"]')));
  assert.deepEqual([reply.status, reply.body], [400, '{"error":"ERR reply exceeds the maximum allowed size"}']);
});

test("A-15: replies that exceed the budget as UTF-8 become errors", async () => {
  const error = '{"error":"ERR reply exceeds the maximum allowed size"}';
  const single = whole(await area({ command: () => "\xff".repeat(40) }).handle(request("/", '["GET","k"]')));
  assert.deepEqual([single.status, single.body], [400, error]);
  // In a batch this applies to replies that are long enough to be finished separately.
  const grown = "\xef\xbf\xbd".repeat(65_536);
  const raw = "\xff".repeat(65_536);
  const { handle } = area({ pipeline: () => ["a", raw, raw, "b"] }, { replyBytesMax: 300_000 });
  const batch = whole(await handle(request("/pipeline", '[["A"],["B"],["C"],["D"]]')));
  assert.equal(batch.status, 200);
  assert.equal(batch.body, `[{"result":"a"},{"result":"${grown}"},${error},{"result":"b"}]`);
});

test("the engine gets the caller, and words as bytes", () => {
  const seen: unknown[] = [];
  const spy = area({
    command({ user, transport, address }, words) {
      seen.push(user.name, transport, address, words);
      return ok;
    },
  });
  spy.handle(request("/set/%FF?a=b&_token=x", "\u00e9"));
  assert.deepEqual(seen, ["default", "http", "10.0.0.7:4000", ["set", "\xff", "\xc3\xa9", "a", "b"]]);
});

test("an invalid or rate-limited token does not reach the engine", () => {
  const untouched = area({}, { limiter: new RateLimiter(new VirtualClock(), { perSecond: 1, burst: 0 }) });
  const status = (sent: HttpRequest): number => (untouched.handle(sent) as HttpReply).status;
  assert.equal(status({ ...request("/", '["PING"]'), rawHeaders: [] }), 401);
  assert.equal(status(request("/", '["PING"]')), 429);
});

test("refusals that need only the head come before the body is read", () => {
  const early = area({});
  assert.equal(early.refuseEarly(request("/", "")), undefined);
  assert.equal(early.refuseEarly({ ...request("/", ""), rawHeaders: [] })?.status, 401);
  assert.equal(early.refuseEarly({ ...request("/", ""), method: "DELETE" })?.status, 405);
  assert.equal(early.refuseEarly({ ...request("/?_token=%", ""), rawHeaders: [] })?.status, 401);
});

test("each route has a rule of the interface and a unique template", () => {
  assert.deepEqual(
    storeRoutes.map(({ rule, template }) => `${rule} ${template}`),
    ["A1 /:command/*", "A2 /", "A3 /pipeline", "A4 /multi-exec", "A5 /monitor", "A6 /subscribe/*", "A6 /psubscribe/*"],
  );
});

test("reports each failed command of a pipeline and of a transaction to the watcher", async () => {
  const failed = errorReply(new CommandError("ERR no"));
  const texts: string[] = [];
  const watched = (target: string): HttpRequest => ({
    ...request(target, '[["A"],["B"],["C"]]'),
    commandFailed: (text) => texts.push(target + text),
  });
  const engine = { pipeline: () => [ok, failed, failed], transaction: () => [failed, ok, ok] };
  const reply = whole(await area(engine).handle(watched("/pipeline")));
  assert.equal(reply.status, 200);
  await area(engine).handle(watched("/multi-exec"));
  assert.deepEqual(texts, ["/pipelineERR no", "/pipelineERR no", "/multi-execERR no"]);
});
