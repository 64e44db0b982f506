/** When a request is sent, held, sent again and refused, in virtual time. */
import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import type { HttpReply, HttpRequest } from "../handler.ts";
import type { Caller } from "./forwarded-head.ts";
import {
  type AreaOwner,
  Front,
  HELD_MAX,
  type OwnerAddress,
  RETRY_MS,
  type Sender,
  type SendOutcome,
  type TunnelOutcome,
} from "./front.ts";

const A: AreaOwner = { kind: "node", at: { node: "a", host: "10.0.0.1", port: 7_400 } };
const B: AreaOwner = { kind: "node", at: { node: "b", host: "10.0.0.2", port: 7_400 } };
const NOT_EXECUTED: SendOutcome = { kind: "not executed" };
const OK: SendOutcome = { kind: "answered", reply: { status: 200, headers: [], body: "from the owner" } };

const NO_OWNER = [503, '{"error":"larder-not-executed: no node serves store now; try again"}'];

/** A sender whose answers the test gives. */
class ScriptedSender implements Sender {
  /** `node target` of each request, in order. */
  readonly sent: string[] = [];
  readonly answers: SendOutcome[] = [];
  /** When there is no answer left. */
  otherwise: SendOutcome | undefined = undefined;
  readonly probes: string[] = [];
  /** The answer to probes. */
  isServing = false;
  readonly followed: (string | undefined)[] = [];

  send(to: OwnerAddress, { target }: HttpRequest): Promise<SendOutcome> {
    this.sent.push(`${to.node} ${target}`);
    const outcome = this.answers.shift() ?? this.otherwise;
    return outcome === undefined ? new Promise(() => {}) : Promise.resolve(outcome);
  }

  /** The sockets of tunnels, in order; undefined: the node refuses. */
  readonly sockets: (Socket | undefined)[] = [];
  /** Whether a tunnel beyond them is not answered. */
  isSilent = false;

  openTunnel({ node }: OwnerAddress, { address }: Caller, abandoned: AbortSignal): Promise<Socket | undefined> {
    this.sent.push(`${node} tunnel for ${address}`);
    if (this.sockets.length > 0 || !this.isSilent) return Promise.resolve(this.sockets.shift());
    return new Promise((resolve) => abandoned.addEventListener("abort", () => resolve(undefined)));
  }

  async probe({ node }: OwnerAddress): Promise<boolean> {
    this.probes.push(node);
    return this.isServing;
  }

  follow(to: OwnerAddress | undefined): void {
    this.followed.push(to?.node);
  }

  async close(): Promise<void> {}
}

/** Lets everything run that waits for no time. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

interface Client {
  readonly request: HttpRequest;
  /** Calls about its turn, in order. */
  readonly turns: string[];
  isGone: boolean;
}

function client(target = "/set/k/1"): Client {
  const turns: string[] = [];
  const made: Client = {
    turns,
    isGone: false,
    request: {
      ...{
        method: "POST",
        target,
        rawHeaders: [],
        body: Buffer.from("1"),
        remoteAddress: "192.0.2.7",
        remotePort: 9,
        id: "1",
      },
      header: () => undefined,
      get isAbandoned() {
        return made.isGone;
      },
      waitsForTurn: () => void turns.push("waits"),
      hadTurn: () => void turns.push("had"),
    },
  };
  return made;
}

function bench(waitMs = 10_000) {
  const clock = new VirtualClock();
  const sender = new ScriptedSender();
  const front = new Front({ area: "store", service: { bodyBytesMax: () => 10 }, sender, clock, waitMs });
  const ask = (request = client().request): { answer: HttpReply | undefined } => {
    const asked: { answer: HttpReply | undefined } = { answer: undefined };
    void Promise.resolve(front.handle(request)).then((reply) => {
      asked.answer = reply as HttpReply;
    });
    return asked;
  };
  const advance = async (ms: number): Promise<void> => {
    await settle();
    clock.advance(ms);
    await settle();
  };
  return { clock, sender, front, ask, advance };
}

function shown(asked: { readonly answer: HttpReply | undefined }): unknown {
  return asked.answer && [asked.answer.status, String(asked.answer.body)];
}

test("a request goes to the owner, and its answer comes back", async () => {
  const { sender, front, ask, advance } = bench();
  front.follow(A);
  sender.answers.push(OK);
  const asked = ask();
  await advance(0);
  assert.deepEqual(shown(asked), [200, "from the owner"]);
  assert.deepEqual(sender.sent, ["a /set/k/1"]);
});

test("a request that was not carried out is sent again when its owner answers a probe", async () => {
  const { sender, front, ask, advance } = bench();
  front.follow(A);
  sender.answers.push(NOT_EXECUTED, OK);
  const asked = ask();
  await advance(RETRY_MS - 1);
  assert.deepEqual(sender.probes, []);
  await advance(1);
  await advance(RETRY_MS);
  assert.deepEqual([sender.probes, sender.sent.length], [["a", "a"], 1]);
  sender.isServing = true;
  await advance(RETRY_MS);
  assert.deepEqual(shown(asked), [200, "from the owner"]);
  assert.equal(sender.sent.length, 2);
  assert.equal(front.heldCount, 0);
  await advance(1_000);
  assert.equal(sender.probes.length, 3);
});

test("a request that waits goes where its tenant lives since then, and was not carried out here", async () => {
  const clock = new VirtualClock();
  const sender = new ScriptedSender();
  const handled: string[] = [];
  const other = {
    bodyBytesMax: () => 10,
    handle: ({ target }: HttpRequest): HttpReply => {
      handled.push(target);
      return { status: 200, headers: [], body: "from the other shard" };
    },
  };
  let isMoved = false;
  const elsewhere = () => (isMoved ? other : undefined);
  const service = { bodyBytesMax: () => 10 };
  const front = new Front({ area: "store", service, sender, clock, waitMs: 10_000, elsewhere });
  front.follow(A);
  // Its owner has made the change already, and this node has not.
  sender.otherwise = NOT_EXECUTED;
  sender.isServing = true;
  const asked = Promise.resolve(front.handle(client().request)) as Promise<HttpReply>;
  for (let tries = 0; tries < 3; tries += 1) {
    await settle();
    clock.advance(RETRY_MS);
  }
  await settle();
  assert.ok(sender.sent.length > 1);
  isMoved = true;
  clock.advance(RETRY_MS);
  assert.equal((await asked).body, "from the other shard");
  assert.deepEqual([handled, front.heldCount], [["/set/k/1"], 0]);
});

test("an owner that has refused a request gets no other one before it has answered a probe", async () => {
  const { sender, front, ask, advance } = bench();
  front.follow(A);
  sender.answers.push(NOT_EXECUTED);
  sender.otherwise = OK;
  ask(client("/1").request);
  await advance(0);
  const later = ask(client("/2").request);
  await advance(5 * RETRY_MS);
  assert.deepEqual(sender.sent, ["a /1"]);
  sender.isServing = true;
  await advance(RETRY_MS);
  assert.deepEqual(sender.sent, ["a /1", "a /1", "a /2"]);
  assert.deepEqual(shown(later), [200, "from the owner"]);
});

test("the answer to a probe of a former owner counts for nothing", async () => {
  const { sender, front, ask, advance } = bench();
  const probed = Promise.withResolvers<boolean>();
  sender.probe = () => probed.promise;
  front.follow(A);
  sender.otherwise = NOT_EXECUTED;
  ask();
  await advance(RETRY_MS);
  front.follow(B);
  await advance(0);
  probed.resolve(true);
  await advance(0);
  assert.deepEqual(sender.sent, ["a /set/k/1", "b /set/k/1"]);
});

test("a request whose answer was lost is never sent again", async () => {
  const { sender, front, ask, advance } = bench();
  front.follow(A);
  sender.answers.push({ kind: "lost" });
  sender.otherwise = OK;
  const asked = ask();
  await advance(0);
  const text = "ERR the answer of the node that serves store was lost: the request may have been carried out";
  assert.deepEqual(shown(asked), [502, JSON.stringify({ error: text })]);
  front.follow(B);
  await advance(20_000);
  assert.deepEqual(sender.sent, ["a /set/k/1"]);
});

test("a request waits for an owner as long as the setting says, and is then refused", async () => {
  const { sender, ask, advance } = bench(10_000);
  const asked = ask();
  await advance(9_999);
  assert.equal(shown(asked), undefined);
  await advance(1);
  assert.deepEqual(shown(asked), NO_OWNER);
  assert.deepEqual(asked.answer?.headers, ["Content-Type", "application/json", "Retry-After", "1"]);
  assert.deepEqual(sender.sent, []);
});

test("the wait is counted from the first try, over all owners", async () => {
  const { sender, front, ask, advance } = bench(1_000);
  sender.otherwise = NOT_EXECUTED;
  front.follow(A);
  const asked = ask();
  await advance(600);
  front.follow(B);
  await advance(399);
  assert.equal(asked.answer, undefined);
  await advance(1);
  assert.deepEqual(shown(asked), NO_OWNER);
  assert.ok(sender.sent.includes("a /set/k/1") && sender.sent.includes("b /set/k/1"), sender.sent.join());
});

test("without a wait, a request is tried once", async () => {
  const { sender, front, ask, advance } = bench(0);
  front.follow(A);
  sender.otherwise = NOT_EXECUTED;
  const asked = ask();
  await advance(0);
  assert.deepEqual(shown(asked), NO_OWNER);
  assert.equal(sender.sent.length, 1);
});

test("a new owner gets all requests that wait, at once", async () => {
  const { sender, front, ask, advance } = bench();
  const asked = [ask(client("/1").request), ask(client("/2").request), ask(client("/3").request)];
  await advance(50);
  sender.otherwise = OK;
  front.follow(B);
  await advance(0);
  assert.deepEqual(sender.sent, ["b /1", "b /2", "b /3"]);
  for (const each of asked) assert.deepEqual(shown(each), [200, "from the owner"]);
  assert.deepEqual(sender.followed, ["b"]);
});

test("while requests wait for an owner that recovers, one probe asks for all", async () => {
  const { sender, front, ask, advance } = bench();
  front.follow(A);
  sender.otherwise = NOT_EXECUTED;
  const asked = Array.from({ length: 100 }, () => ask());
  await advance(0);
  sender.sent.length = 0;
  for (let tries = 0; tries < 10; tries += 1) await advance(RETRY_MS);
  assert.deepEqual([sender.sent.length, sender.probes.length], [0, 10]);
  sender.otherwise = OK;
  sender.isServing = true;
  await advance(RETRY_MS);
  for (const each of asked) assert.deepEqual(shown(each), [200, "from the owner"]);
});

test("at most two thousand requests wait; further ones are refused with Retry-After", async () => {
  const { front, ask, advance } = bench();
  const asked = Array.from({ length: HELD_MAX + 1 }, () => ask());
  await advance(0);
  assert.equal(front.heldCount, 2_000);
  const last = asked.at(-1);
  assert.deepEqual(last && shown(last), [503, '{"error":"ERR server is busy; try again"}']);
  assert.ok(last?.answer?.headers.includes("Retry-After"));
  assert.equal(asked[0]?.answer, undefined);
});

test("requests that wait are handled here when this node becomes the owner", async () => {
  const { sender, front, ask, advance } = bench();
  const asked = ask();
  await advance(3_000);
  front.serve({
    handle: ({ target }) => ({ status: 200, headers: [], body: `here ${target}` }),
    bodyBytesMax: () => 10,
  });
  await advance(0);
  assert.deepEqual(shown(asked), [200, "here /set/k/1"]);
  assert.deepEqual(sender.sent, []);
});

test("an owner without a cluster address is not waited for", async () => {
  const { front, ask, advance } = bench();
  front.follow({ kind: "unreachable" });
  const asked = ask();
  await advance(0);
  const text = "larder-not-executed: this node does not serve store now; send the request to the node that does";
  assert.deepEqual(shown(asked), [421, JSON.stringify({ error: text })]);
});

test("a request whose client has gone is not sent again", async () => {
  const { sender, front, ask, advance } = bench();
  const gone = client();
  const asked = ask(gone.request);
  await advance(0);
  gone.isGone = true;
  sender.otherwise = OK;
  front.follow(A);
  await advance(0);
  assert.equal(asked.answer?.status, 499);
  assert.deepEqual(sender.sent, []);
});

test("later requests of a connection wait until the one before them was answered", async () => {
  const { sender, front, ask, advance } = bench();
  const first = client();
  ask(first.request);
  await advance(0);
  assert.deepEqual(first.turns, ["waits"]);
  sender.otherwise = OK;
  front.follow(A);
  await advance(0);
  assert.deepEqual(first.turns, ["waits", "had"]);
});

test("a request that cannot be sent is refused at once", async () => {
  const { sender, front, ask, advance } = bench();
  front.follow(A);
  sender.otherwise = { kind: "unsendable" };
  const asked = ask();
  await advance(0);
  assert.deepEqual(shown(asked), [400, '{"error":"ERR malformed HTTP request"}']);
  assert.equal(sender.sent.length, 1);
});

test("a node that stops refuses what waits", async () => {
  const { sender, front, ask, advance } = bench();
  const asked = ask();
  await advance(0);
  await front.close(1_000);
  await advance(0);
  assert.deepEqual(shown(asked), NO_OWNER);
  assert.deepEqual(sender.sent, []);
});

test("a client whose bytes have no room is refused before anything is sent", async () => {
  const { sender, front, ask, advance } = bench();
  front.follow(A);
  const owners: string[] = [];
  const full: HttpRequest = {
    ...client().request,
    claim: ({ name }) => {
      owners.push(name);
      return { kind: "unavailable", text: "ERR server is busy; try again", headers: ["Retry-After", "1"] };
    },
  };
  const asked = ask(full);
  await advance(0);
  assert.equal(asked.answer?.status, 503);
  assert.deepEqual([owners, sender.sent], [["192.0.2.7"], []]);
});

const CALLER: Caller = { address: "192.0.2.7", port: 9 };
const REFUSED = "larder-not-executed: no node serves store now; try again";

interface Tunnelling {
  outcome: TunnelOutcome | undefined;
  readonly gone: AbortController;
}

function tunnel(front: Front): Tunnelling {
  const asked: Tunnelling = { outcome: undefined, gone: new AbortController() };
  void front.tunnel(CALLER, asked.gone.signal).then((outcome) => {
    asked.outcome = outcome;
  });
  return asked;
}

function endOf({ outcome }: Tunnelling): unknown {
  return outcome?.kind === "refused" ? outcome.failure.text : outcome?.kind;
}

test("a connection goes to the owner, which learns of its client", async () => {
  const { sender, front, advance } = bench();
  const socket = new Socket();
  sender.sockets.push(socket);
  front.follow(A);
  const asked = tunnel(front);
  await advance(0);
  assert.deepEqual(asked.outcome, { kind: "open", stream: socket });
  assert.deepEqual(sender.sent, ["a tunnel for 192.0.2.7"]);
});

test("a connection waits for an owner as long as a request, and is then refused", async () => {
  const { sender, front, advance } = bench(10_000);
  const asked = tunnel(front);
  await advance(9_999);
  assert.equal(endOf(asked), undefined);
  assert.equal(front.heldCount, 1);
  await advance(1);
  assert.equal(endOf(asked), REFUSED);
  assert.equal(front.heldCount, 0);
  assert.deepEqual(sender.sent, []);
});

test("a connection that its owner has refused goes to the next one", async () => {
  const { sender, front, advance } = bench();
  sender.sockets.push(undefined, new Socket());
  front.follow(A);
  const asked = tunnel(front);
  await advance(1_000);
  assert.equal(endOf(asked), undefined);
  front.follow(B);
  await advance(0);
  assert.equal(endOf(asked), "open");
  assert.deepEqual(sender.sent, ["a tunnel for 192.0.2.7", "b tunnel for 192.0.2.7"]);
});

test("a connection that the owner does not answer is refused after the wait, at the earliest after two seconds", async () => {
  for (const [waitMs, endMs] of [
    [10_000, 10_000],
    [0, 2_000],
  ] as const) {
    const { sender, front, advance } = bench(waitMs);
    sender.isSilent = true;
    front.follow(A);
    const asked = tunnel(front);
    await advance(endMs - 1);
    assert.equal(endOf(asked), undefined);
    await advance(1);
    assert.equal(endOf(asked), REFUSED);
    assert.equal(sender.sent.length, 1);
  }
});

test("a connection that waits is told when this node serves the area", async () => {
  const { front, advance } = bench();
  const asked = tunnel(front);
  await advance(0);
  front.serve({ handle: () => ({ status: 200, headers: [], body: "" }), bodyBytesMax: () => 1 });
  await advance(0);
  assert.equal(endOf(asked), "here");
});

test("a client that has gone makes room for others that wait, and is no reason to doubt the owner", async () => {
  const { sender, front, advance, ask } = bench();
  const asked = tunnel(front);
  await advance(0);
  assert.equal(front.heldCount, 1);
  asked.gone.abort();
  await advance(0);
  assert.equal(front.heldCount, 0);
  sender.isSilent = true;
  front.follow(A);
  const second = tunnel(front);
  await advance(0);
  second.gone.abort();
  await advance(0);
  sender.answers.push(OK);
  const request = ask();
  await advance(0);
  assert.deepEqual(shown(request), [200, "from the owner"]);
});
