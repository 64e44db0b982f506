/** A connection over a real socket, with a session whose commands are its actions. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { RawPeer } from "../../../test/harness/raw-peer.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog } from "../../kernel/log.ts";
import { type Tenant, Turns } from "../../kernel/turns.ts";
import { simple } from "../../store/reply/reply.ts";
import { ByteBudget, type Owner } from "../limits/byte-budget.ts";
import {
  type ConnectionLimits,
  type CutReason,
  defaultConnectionLimits,
  RespConnection,
  type RespSession,
} from "./connection.ts";
import type { ReplyJournal } from "./reply-queue.ts";

/** `WRITE` advances the journal, `WAIT` blocks, `BIG n` answers n bytes, `PUSH` pushes; other commands are echoed. */
class TestSession implements RespSession {
  isWaiting = false;
  respVersion: 2 | 3 = 2;
  isAuthenticated = true;
  isListening = false;
  tenant: Owner | undefined = { name: "main" };
  isClosed = false;
  turn = undefined;
  frames = undefined;
  beganAtMs = 0;
  lookedAtMs = 0;
  readonly executed: Bytes[][] = [];
  readonly #connection: RespConnection;
  readonly #journal: HeldJournal;

  constructor(connection: RespConnection, journal: HeldJournal) {
    this.#connection = connection;
    this.#journal = journal;
  }

  executeNext(words: Bytes[]): void {
    this.execute(words);
  }

  mustWait(): boolean {
    return false;
  }

  execute(words: Bytes[]): void {
    assert.equal(this.isWaiting, false);
    this.executed.push(words);
    const [name, argument = ""] = words;
    if (name === "WAIT") this.isWaiting = true;
    else if (name === "THROW") throw new Error("a bug");
    else if (name === "QUIT") {
      this.#connection.reply(simple("OK"));
      this.#connection.close("when written");
    } else if (name === "PUSH") {
      this.#connection.push({ kind: "message", channel: "c", payload: "p" });
      this.#connection.reply(1);
    } else if (name === "BIG") this.#connection.reply("x".repeat(Number(argument)));
    else {
      if (name === "WRITE") this.#journal.end += 1;
      this.#connection.reply(simple(words.join(" ")));
    }
  }

  /** Answers a blocked command. */
  answer(text: string): void {
    this.isWaiting = false;
    this.#connection.reply(simple(text));
    this.#connection.resume();
  }

  received(): void {}

  sent(): void {}

  unblock(): void {
    if (this.isWaiting) this.answer("unblocked");
  }

  close(): void {
    this.isClosed = true;
  }

  kill(): void {}
}

class HeldJournal implements ReplyJournal {
  end = 0;
  safe = 0;
  #resolve = (): void => {};

  whenSafe(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  makeSafe(): void {
    this.safe = this.end;
    this.#resolve();
  }
}

interface Scene extends AsyncDisposable {
  readonly peer: RawPeer;
  readonly socket: Socket;
  readonly connection: RespConnection;
  readonly session: TestSession;
  /** Pays for the commands. */
  readonly anonymous: Tenant;
  readonly journal: HeldJournal;
  readonly clock: VirtualClock;
  readonly cuts: CutReason[];
  readonly logLines: string[];
  readonly budget: ByteBudget;
  readonly closed: Promise<void>;
}

async function startScene(
  limits: Partial<ConnectionLimits> = {},
  { budgetBytes = 1e9, isEncrypted = false }: { budgetBytes?: number; isEncrypted?: boolean } = {},
): Promise<Scene> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const accepted = once(server, "connection");
  const peer = await RawPeer.open(address.port);
  const [socket] = (await accepted) as [Socket];
  const journal = new HeldJournal();
  const clock = new VirtualClock();
  const cuts: CutReason[] = [];
  const logLines: string[] = [];
  const budget = new ByteBudget(budgetBytes);
  const closed = Promise.withResolvers<void>();
  const anonymous = new Turns({ clock }).tenant("store", "anonymous");
  let session: TestSession | undefined;
  const connection = new RespConnection({
    socket,
    isEncrypted,
    journal,
    clock,
    log: createLog({ level: "debug", format: "json", clock, sink: (line) => logLines.push(line) }),
    budget,
    limits: { ...defaultConnectionLimits, requestBytesMax: 10e6, replyBytesMax: 50e6, ...limits },
    anonymous,
    openSession: () => session,
    events: {
      received: () => {},
      sent: () => {},
      cutOff: (reason) => cuts.push(reason),
      closed: () => closed.resolve(),
    },
  });
  session = new TestSession(connection, journal);
  return {
    peer,
    socket,
    connection,
    session,
    anonymous,
    journal,
    clock,
    cuts,
    logLines,
    budget,
    closed: closed.promise,
    async [Symbol.asyncDispose]() {
      peer.socket.destroy();
      socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

test("commands run in order, and their replies are one write", async () => {
  await using scene = await startScene();
  let writes = 0;
  const write = scene.socket.write.bind(scene.socket);
  scene.socket.write = ((text: string, encoding: BufferEncoding) => {
    writes += 1;
    return write(text, encoding);
  }) as typeof scene.socket.write;
  assert.equal(await scene.peer.ask("a\r\nb\r\nc\r\n", 12), "+a\r\n+b\r\n+c\r\n");
  assert.equal(writes, 1);
});

for (const [isEncrypted, byteNs] of [
  [false, 1],
  [true, 3],
] as const) {
  test(`a byte costs its tenant ${byteNs} ns, ${isEncrypted ? "with" : "without"} TLS`, async () => {
    await using scene = await startScene({}, { isEncrypted });
    let chargedMs = 0;
    scene.anonymous.charge = (ms) => {
      chargedMs += ms;
    };
    const words = "x".repeat(998);
    assert.equal(await scene.peer.ask(`${words}\r\n`, 1_001), `+${words}\r\n`);
    assert.equal(Math.round(chargedMs * 1e6), byteNs * 1_000);
  });
}

test("counts the bytes that it has received and sent", async () => {
  await using scene = await startScene();
  assert.equal(await scene.peer.ask("*1\r\n$4\r\nPING\r\n", 7), "+PING\r\n");
  assert.equal(scene.connection.receivedBytes, 14);
  assert.equal(scene.connection.sentBytes, 7);
});

test("a reply leaves when the journal is safe, and no reply overtakes it", async () => {
  await using scene = await startScene();
  scene.peer.say("WRITE\r\n");
  await scene.peer.ask("", 0);
  while (scene.session.executed.length < 1) await once(scene.socket, "data");
  scene.peer.say("read\r\n");
  while (scene.session.executed.length < 2) await once(scene.socket, "data");
  assert.equal(scene.socket.bytesWritten, 0);
  scene.journal.makeSafe();
  assert.equal(await scene.peer.hear(15), "+WRITE\r\n+read\r\n");
});

test("while a command is blocked no other runs, and later ones run after it", async () => {
  await using scene = await startScene();
  scene.peer.say("WAIT\r\nnext\r\n");
  while (scene.session.executed.length < 1) await once(scene.socket, "data");
  assert.deepEqual(scene.session.executed, [["WAIT"]]);
  scene.session.answer("served");
  assert.equal(await scene.peer.hear(16), "+served\r\n+next\r\n");
});

test("while a command is blocked reads only a limited amount, and the rest later", async () => {
  await using scene = await startScene();
  const line = `${"y".repeat(1_000)}\r\n`;
  scene.peer.say(`WAIT\r\n${line.repeat(2_000)}`);
  while (!scene.socket.isPaused()) await once(scene.socket, "data");
  assert.ok(scene.connection.unreadBytes < 300_000);
  scene.session.answer("go");
  const replies = await scene.peer.hear(5 + 2_000 * 1_003);
  assert.equal(replies, `+go\r\n${`+${line}`.repeat(2_000)}`);
});

test("a peer that disconnects while its command is blocked ends its session", async () => {
  await using scene = await startScene();
  scene.peer.say("WAIT\r\n");
  while (scene.session.executed.length < 1) await once(scene.socket, "data");
  scene.peer.socket.end();
  await scene.closed;
  assert.equal(scene.session.isClosed, true);
});

test("a peer that ends its side gets every reply", async () => {
  await using scene = await startScene();
  scene.peer.socket.end("a\r\nWRITE\r\nunfinished");
  while (scene.session.executed.length < 2) await once(scene.socket, "data");
  scene.journal.makeSafe();
  assert.equal(await scene.peer.hearAll(), "+a\r\n+WRITE\r\n");
  await scene.closed;
});

test("runs nothing after QUIT", async () => {
  await using scene = await startScene();
  scene.peer.say("QUIT\r\nnext\r\n");
  assert.equal(await scene.peer.hearAll(), "+OK\r\n");
  assert.deepEqual(scene.session.executed, [["QUIT"]]);
});

test("a malformed request is answered after earlier requests, and ends the connection", async () => {
  await using scene = await startScene();
  scene.peer.say("a\r\n*x\r\nb\r\n");
  assert.equal(await scene.peer.hearAll(), "+a\r\n-ERR Protocol error: invalid multibulk length\r\n");
  assert.deepEqual(scene.cuts, ["malformed request"]);
});

test("runs nothing of an HTTP request", async () => {
  for (const start of ["POST / HTTP/1.1\r\nSET k v\r\n", "GET / HTTP/1.1\r\nHost: x\r\nSET k v\r\n"]) {
    await using scene = await startScene();
    scene.peer.say(start);
    await scene.peer.hearAll();
    assert.ok(!scene.session.executed.some(([name]) => name === "SET"));
    assert.deepEqual(scene.cuts, ["malformed request"]);
  }
});

test("a push during a command follows its reply", async () => {
  await using scene = await startScene();
  const message = "3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\np\r\n";
  assert.equal(await scene.peer.ask("PUSH\r\nPUSH\r\n", 70), `:1\r\n*${message}:1\r\n*${message}`);
  scene.session.respVersion = 3;
  assert.equal(await scene.peer.ask("PUSH\r\n", 35), `:1\r\n>${message}`);
});

test("a long pipeline yields to others", async () => {
  await using scene = await startScene();
  scene.peer.say("a\r\n".repeat(2_500));
  const looks = new Set<number>();
  while (scene.session.executed.length < 2_500) {
    await new Promise((resolve) => setImmediate(resolve));
    looks.add(scene.session.executed.length);
  }
  looks.delete(0);
  assert.ok(looks.size >= 2, [...looks].join());
  assert.equal(await scene.peer.hear(10_000), "+a\r\n".repeat(2_500));
});

test("commands stop while the peer does not read, and continue when it does", async () => {
  await using scene = await startScene({ queuedBytesMax: 1_000_000 });
  scene.peer.socket.pause();
  scene.peer.say("BIG 600000\r\n".repeat(100));
  while (scene.connection.queuedBytes <= 1_000_000) await once(scene.socket, "data");
  assert.ok(scene.session.executed.length < 100);
  scene.peer.socket.resume();
  const reply = `$600000\r\n${"x".repeat(600_000)}\r\n`;
  assert.equal((await scene.peer.hear(100 * reply.length)).length, 100 * reply.length);
});

test("unread replies count in the budget, and no command runs without room", async () => {
  await using scene = await startScene({}, { budgetBytes: 8_000_000 });
  scene.peer.socket.pause();
  scene.peer.say("BIG 5000000\r\n".repeat(20));
  while (scene.budget.usedBytes === 0) await once(scene.socket, "data");
  assert.ok(scene.session.executed.length < 20);
  scene.peer.socket.resume();
  const reply = 5_000_000 + "$5000000\r\n\r\n".length;
  assert.equal((await scene.peer.hear(20 * reply)).length, 20 * reply);
  assert.equal(scene.session.executed.length, 20);
  scene.peer.socket.destroy();
  await scene.closed;
  assert.equal(scene.budget.usedBytes, 0);
});

test("replies that wait for the journal count in the budget", async () => {
  await using scene = await startScene();
  scene.peer.say("WRITE\r\nBIG 1000\r\n");
  while (scene.budget.usedBytes !== 1_017) await once(scene.socket, "data");
  assert.deepEqual([...scene.budget.owners], [[scene.session.tenant, 1_017]]);
  scene.journal.makeSafe();
  assert.equal((await scene.peer.hear(1_017)).length, 1_017);
  assert.equal(scene.budget.usedBytes, 0);
});

test("A-13: runs no command of a connection while its database is over the budget", async () => {
  await using scene = await startScene({}, { budgetBytes: 1_000_000 });
  scene.peer.say("a\r\n");
  await scene.peer.hear(4);
  const other = { name: "other" };
  scene.budget.add(100_000, other);
  scene.budget.add(600_000, scene.session.tenant);
  scene.peer.say("b\r\n");
  while (scene.connection.unreadBytes < 3) await once(scene.socket, "data");
  assert.equal(scene.session.executed.length, 1);

  scene.budget.release(100_000, other);
  scene.budget.release(200_000, scene.session.tenant);
  assert.equal(await scene.peer.hear(4), "+b\r\n");
});

test("disconnects a subscriber that does not read: at once beyond the hard limit, later beyond the soft limit", async () => {
  const push = { kind: "message", channel: "c", payload: "p".repeat(1_000_000) } as const;
  {
    await using scene = await startScene({ listeningBytesMax: 20_000_000 });
    scene.peer.socket.pause();
    await new Promise((resolve) => setImmediate(resolve));
    scene.peer.say("a\r\n");
    while (scene.session.executed.length < 1) await once(scene.socket, "data");
    scene.session.isListening = true;
    for (let i = 0; i < 40; i += 1) scene.connection.push(push);
    await scene.closed;
    assert.deepEqual(scene.cuts, ["too slow"]);
    assert.equal(scene.session.isClosed, true);
  }
  await using scene = await startScene({ slowBytesMax: 20_000_000, listeningBytesMax: 1e9 });
  scene.peer.socket.pause();
  scene.peer.say("a\r\n");
  while (scene.session.executed.length < 1) await once(scene.socket, "data");
  scene.session.isListening = true;
  for (let i = 0; i < 40; i += 1) scene.connection.push(push);
  await scene.clock.advance(59_000);
  assert.deepEqual(scene.cuts, []);
  await scene.clock.advance(1_000);
  await scene.closed;
  assert.deepEqual(scene.cuts, ["too slow"]);
});

test("incomplete requests count in the budget, and are refused without room", async () => {
  await using scene = await startScene({}, { budgetBytes: 1_000_000 });
  scene.peer.say(`*2\r\n$3\r\nSET\r\n$5000000\r\n${"v".repeat(500_000)}`);
  while (scene.connection.unreadBytes < 500_000) await once(scene.socket, "data");
  assert.equal(scene.budget.usedBytes, 500_000);
  scene.peer.say("v".repeat(1_000_000));
  await scene.closed;
  assert.deepEqual(scene.cuts, ["no memory"]);
  assert.equal(scene.budget.usedBytes, 0);
});

test("a bug ends the connection and is logged", async () => {
  await using scene = await startScene();
  scene.peer.say("THROW\r\na\r\n");
  assert.equal(await scene.peer.hearAll(), "");
  assert.deepEqual(scene.cuts, ["failed"]);
  assert.match(scene.logLines.join(), /a bug/);
});

test("a reply beyond the limit becomes an error", async () => {
  await using scene = await startScene({ replyBytesMax: 1_000 });
  scene.peer.say("BIG 2000\r\na\r\nQUIT\r\n");
  assert.match(await scene.peer.hearAll(), /^-ERR [^\r]+\r\n\+a\r\n\+OK\r\n$/);
});
