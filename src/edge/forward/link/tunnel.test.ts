/** Two ends of a tunnel, whose frames a test carries from one to the other, split anywhere. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../../test/harness/seed.ts";
import { type Random, seededRandom } from "../../../kernel/random.ts";
import { kinds, LinkFault, LinkFrameReader, LinkFrameWriter, TUNNEL_WINDOW_BYTES } from "./frames.ts";
import { LinkTunnel, type TunnelLink } from "./tunnel.ts";
import { LinkTunnels } from "./tunnel-set.ts";

/** One side of a link with one tunnel. */
class End implements TunnelLink {
  readonly frames = new LinkFrameWriter();
  readonly addresses = { remoteAddress: "10.0.0.1", remotePort: 1 };
  readonly growth = { bytes: 0 };
  readonly tunnels = new LinkTunnels();
  readonly tunnel = new LinkTunnel(this, 1);
  readonly pumped = new Set<LinkTunnel>();
  readonly #reader = new LinkFrameReader();
  isCongested = false;
  /** What came, and how it ended. */
  heard = "";
  readonly events: string[] = [];

  constructor() {
    this.tunnels.add(this.tunnel);
    this.tunnel.on("data", (chunk: Buffer | string) => {
      this.heard += typeof chunk === "string" ? chunk : chunk.toString("latin1");
    });
    for (const event of ["end", "finish", "close", "drain", "timeout"] as const)
      this.tunnel.on(event, () => void this.events.push(event));
  }

  wrote(): void {}

  pump(tunnel: LinkTunnel): void {
    if (tunnel.canSend) this.pumped.add(tunnel);
  }

  left(tunnel: LinkTunnel): void {
    this.tunnels.delete(tunnel);
    this.pumped.delete(tunnel);
  }

  /** What this side has written since the last call. */
  take(): Buffer {
    for (const tunnel of this.pumped) if (!this.isCongested) tunnel.sendPiece();
    for (const tunnel of [...this.pumped]) if (!tunnel.canSend) this.pumped.delete(tunnel);
    return Buffer.concat(this.frames.take());
  }

  receive(packet: Buffer): void {
    this.#reader.add(packet);
    while (this.#reader.next()) this.tunnels.receive(this.#reader);
  }
}

function pair(): readonly [near: End, far: End] {
  const ends = [new End(), new End()] as const;
  for (const { tunnel } of ends) tunnel.resume();
  return ends;
}

/** Carries frames both ways until none is left. */
async function settle([near, far]: readonly [End, End]): Promise<void> {
  for (;;) {
    await Promise.resolve();
    const [there, back] = [near.take(), far.take()];
    far.receive(there);
    near.receive(back);
    if (there.length > 0 || back.length > 0) continue;
    await Promise.resolve();
    return;
  }
}

function writeData(writer: LinkFrameWriter, number: number, text: string): void {
  writer.begin(kinds.tunnelData, number, text.length);
  writer.text(text);
}

test("bytes pass both ways, and the end of each side after them; then both close", async () => {
  const ends = pair();
  const [near, far] = ends;
  near.tunnel.write(Buffer.from("ask"));
  near.tunnel.end();
  await settle(ends);
  assert.deepEqual([far.heard, far.events, near.events], ["ask", ["end"], ["finish"]]);
  assert.deepEqual([near.tunnel.writable, far.tunnel.writable], [false, true]);
  far.tunnel.write("\xffanswer", "latin1");
  far.tunnel.end("!", "latin1");
  await settle(ends);
  assert.deepEqual([near.heard, near.events], ["\xffanswer!", ["finish", "end", "close"]]);
  assert.deepEqual(far.events, ["end", "finish", "close"]);
  assert.deepEqual([near.tunnels.size, far.tunnels.size], [0, 0]);
});

test("a reader that stops keeps a window of bytes in the tunnel, and all others wait at their source", async () => {
  const ends = pair();
  const [near, far] = ends;
  far.tunnel.pause();
  const piece = "0123456789abcdef".repeat(4_096);
  for (let i = 0; i < 40; i += 1) near.tunnel.write(piece, "latin1");
  await settle(ends);
  const all = 40 * piece.length;
  assert.deepEqual([far.heard.length, near.tunnel.writableLength], [0, all - TUNNEL_WINDOW_BYTES]);
  assert.deepEqual(near.events, []);
  far.tunnel.resume();
  await settle(ends);
  assert.ok(far.heard === piece.repeat(40));
  assert.deepEqual([near.tunnel.writableLength, near.events], [0, ["drain"]]);
});

test("a reader that stops within a piece gets no other one, and gives no credit until it goes on", async () => {
  const ends = pair();
  const [near, far] = ends;
  far.tunnel.once("data", () => far.tunnel.pause());
  for (let i = 0; i < 10; i += 1) near.tunnel.write(Buffer.alloc(65_536, `${i}`));
  await settle(ends);
  assert.deepEqual([far.heard.length, near.tunnel.writableLength], [65_536, 655_360 - TUNNEL_WINDOW_BYTES]);
  far.tunnel.resume();
  await settle(ends);
  assert.deepEqual([far.heard.length, far.heard.at(-1)], [655_360, "9"]);
});

/** Sends so much in pieces of this size, and answers with credits only. */
async function sendInPieces(ends: readonly [End, End], size: number): Promise<void> {
  for (let i = 0; i < 40; i += 1) {
    ends[0].tunnel.write("x".repeat(size), "latin1");
    await settle(ends);
  }
}

test("the window of a reader of long data grows up to its bound, and is small again after short data or a stop", async () => {
  const ends = pair();
  const [near, far] = ends;
  /** What is sent to a reader that has stopped. */
  const window = async (): Promise<number> => {
    far.tunnel.pause();
    near.tunnel.write("y".repeat(4_000_000), "latin1");
    const before = near.tunnel.writableLength;
    await settle(ends);
    const sent = before - near.tunnel.writableLength;
    far.tunnel.resume();
    await settle(ends);
    return sent;
  };
  await sendInPieces(ends, 60_000);
  assert.equal(far.growth.bytes, 1_048_576 - TUNNEL_WINDOW_BYTES);
  const grown = await window();
  assert.ok(grown > 500_000 && grown <= 1_048_576, `${grown}`);
  await sendInPieces(ends, 1_000);
  await sendInPieces(ends, 1_000);
  for (let i = 0; i < 20; i += 1) await sendInPieces(ends, 2_000);
  assert.equal(far.growth.bytes, 0);
  const small = await window();
  assert.ok(small <= TUNNEL_WINDOW_BYTES, `${small}`);
  near.tunnel.destroy();
  await settle(ends);
  assert.equal(far.growth.bytes, 0);
});

test("windows of a link grow together up to a bound, which a tunnel that ends gives back", async () => {
  const ends = pair();
  ends[1].growth.bytes = 64 * 1024 * 1024 - 1_000;
  await sendInPieces(ends, 60_000);
  assert.equal(ends[1].growth.bytes, 64 * 1024 * 1024);
  ends[0].tunnel.destroy();
  await settle(ends);
  assert.equal(ends[1].growth.bytes, 64 * 1024 * 1024 - 1_000);
});

test("while the link has many unsent bytes a tunnel writes none, and its end waits as well", async () => {
  const ends = pair();
  const [near, far] = ends;
  near.isCongested = true;
  assert.equal(near.tunnel.write("a", "latin1"), false);
  assert.equal(near.tunnel.write("b", "latin1"), false);
  near.tunnel.end();
  await settle(ends);
  assert.deepEqual([far.heard, near.tunnel.writableLength, far.events], ["", 2, []]);
  near.isCongested = false;
  await settle(ends);
  assert.deepEqual([far.heard, far.events], ["ab", ["end"]]);
});

test("a reset drops what was not sent, closes the other side after all that came, and is sent once", async () => {
  for (const side of [0, 1] as const) {
    const ends = pair();
    const [one, other] = side === 0 ? ends : [ends[1], ends[0]];
    other.tunnel.pause();
    one.tunnel.write("came", "latin1");
    one.tunnel.write(Buffer.alloc(2 * TUNNEL_WINDOW_BYTES));
    one.tunnel.destroy();
    one.tunnel.destroy();
    await settle(ends);
    assert.deepEqual([one.events, other.events, other.heard], [["close"], ["close"], "came"]);
    assert.deepEqual([one.tunnel.writableLength, one.tunnel.destroyed, other.tunnel.destroyed], [0, true, true]);
    assert.equal(other.tunnel.write("x", "latin1"), true);
    other.tunnel.destroy();
    assert.equal(other.take().length, 0);
  }
});

test("single bytes that wait leave as one piece, and those that are held come as one", async () => {
  const ends = pair();
  const [near, far] = ends;
  const pieces: number[] = [];
  far.tunnel.on("data", ({ length }: Buffer) => void pieces.push(length));
  far.tunnel.pause();
  near.isCongested = true;
  for (let i = 0; i < 3_000; i += 1) near.tunnel.write(i % 2 === 0 ? "a" : Buffer.from("b"));
  near.isCongested = false;
  const bytes = near.take();
  assert.equal(bytes.length, 9 + 3_000);
  far.receive(bytes);
  for (let i = 0; i < 2_000; i += 1) {
    near.tunnel.write("c", "latin1");
    far.receive(near.take());
  }
  far.tunnel.resume();
  await settle(ends);
  assert.deepEqual(pieces, [5_000]);
  assert.ok(far.heard === "ab".repeat(1_500) + "c".repeat(2_000));
});

test("destroySoon ends both sides when its bytes were sent", async () => {
  const ends = pair();
  const [near, far] = ends;
  const bytes = Buffer.alloc(3 * TUNNEL_WINDOW_BYTES, "x");
  near.tunnel.write(bytes);
  near.tunnel.destroySoon();
  await settle(ends);
  assert.deepEqual([far.heard.length, far.events], [bytes.length, ["end", "close"]]);
  assert.deepEqual(near.events, ["finish", "close"]);
});

test("frames that have crossed the end of a tunnel are ignored, and bytes of one that has not begun are a fault", async () => {
  const ends = pair();
  const [near, far] = ends;
  far.tunnel.write("late", "latin1");
  near.tunnel.destroy();
  near.receive(far.take());
  await settle(ends);
  assert.deepEqual([near.heard, far.events], ["", ["close"]]);
  const writer = new LinkFrameWriter();
  writeData(writer, 2, "x");
  assert.throws(() => near.receive(Buffer.concat(writer.take())), new LinkFault("tunnel 2 was not opened"));
});

test("more bytes than the window, an empty piece, a second end, bytes after an end and too much credit are faults", () => {
  const piece = "x".repeat(65_536);
  const cases: readonly (readonly [fault: string, write: (writer: LinkFrameWriter) => void])[] = [
    [
      "a piece of a tunnel has no place",
      (writer) => {
        for (let i = 0; i < TUNNEL_WINDOW_BYTES / piece.length; i += 1) writeData(writer, 1, piece);
        writeData(writer, 1, "x");
      },
    ],
    ["a piece of a tunnel has no place", (writer) => writer.begin(kinds.tunnelData, 1, 0)],
    [
      "a side of a tunnel ends twice",
      (writer) => {
        writer.begin(kinds.tunnelEnd, 1, 0);
        writer.begin(kinds.tunnelEnd, 1, 0);
      },
    ],
    [
      "a piece of a tunnel has no place",
      (writer) => {
        writer.begin(kinds.tunnelEnd, 1, 0);
        writeData(writer, 1, "x");
      },
    ],
    [
      "a credit of 983041 bytes is too large",
      (writer) => {
        writer.begin(kinds.tunnelCredit, 1, 4);
        writer.uint32(983_041);
      },
    ],
    ["a frame of kind 14 is too short", (writer) => writer.begin(kinds.tunnelCredit, 1, 0)],
  ];
  for (const [fault, write] of cases) {
    const end = new End();
    const writer = new LinkFrameWriter();
    write(writer);
    const packet = Buffer.concat(writer.take());
    assert.throws(() => end.receive(packet), new LinkFault(fault));
  }
});

test("a timeout comes when no byte has moved for longer, and once", async () => {
  const ends = pair();
  const [near] = ends;
  near.tunnel.setTimeout(1_000);
  near.tunnel.write(Buffer.alloc(2 * TUNNEL_WINDOW_BYTES));
  ends[1].tunnel.pause();
  await settle(ends);
  near.tunnels.check(10);
  near.tunnels.check(1_010);
  assert.deepEqual(near.events, []);
  near.tunnels.check(1_011);
  assert.deepEqual(near.events, ["timeout"]);
  near.tunnel.setTimeout(0);
  near.tunnels.check(9_000);
  assert.deepEqual(near.events, ["timeout"]);
});

test("short pieces come as text where that is preferred, and a held piece keeps no packet of others", async () => {
  const [near, far] = pair();
  const chunks: unknown[] = [];
  far.tunnel.on("data", (chunk: Buffer | string) => void chunks.push(chunk));
  await Promise.resolve();
  near.tunnel.write("bytes", "latin1");
  far.receive(near.take());
  far.tunnel.preferText();
  near.tunnel.write("t\xe9xt", "latin1");
  far.receive(near.take());
  assert.deepEqual(chunks, [Buffer.from("bytes"), "t\xe9xt"]);

  const [asking, owning] = pair();
  asking.tunnel.write("small", "latin1");
  const packet = Buffer.concat([asking.take(), Buffer.alloc(1_000)]).subarray(0, 14);
  const whole = Buffer.concat([packet, asking.take()]);
  owning.tunnel.pause();
  owning.receive(whole);
  whole.fill(0);
  owning.tunnel.resume();
  await settle([asking, owning]);
  assert.equal(owning.heard, "small");
});

const seed = seedFrom("LARDER_TUNNEL_SEED");

/** Random writes, reads, stops, ends and packets, until both sides have ended. */
async function runRandomly(random: Random): Promise<void> {
  const ends = pair();
  const sent = ["", ""];
  const packets: Buffer[][] = [[], []];
  for (let step = 0; step < 400 || ends.some(({ tunnel }) => !tunnel.closed); step += 1) {
    const side = random.below(2) as 0 | 1;
    const end = ends[side];
    const { tunnel } = end;
    const isOver = step >= 400;
    switch (isOver ? 9 : random.below(9)) {
      case 0:
      case 1: {
        const text = String.fromCharCode(random.below(256)).repeat(random.below(random.below(20) === 0 ? 200_000 : 50));
        if (tunnel.writable) sent[side] += text;
        tunnel.write(random.below(2) === 0 ? text : Buffer.from(text, "latin1"), "latin1");
        break;
      }
      case 2:
        tunnel.pause();
        break;
      case 3:
        tunnel.resume();
        break;
      case 4:
        end.isCongested = random.below(2) === 0;
        break;
      case 5:
      case 6: {
        // Split anywhere.
        const bytes = end.take();
        const at = random.below(bytes.length + 1);
        packets[side]?.push(bytes.subarray(0, at), bytes.subarray(at));
        break;
      }
      case 9:
        end.isCongested = false;
        tunnel.resume();
        tunnel.end();
        packets[side]?.push(end.take());
        ends[1 - side]?.receive(packets[side]?.shift() ?? Buffer.alloc(0));
        break;
      default:
        ends[1 - side]?.receive(packets[side]?.shift() ?? Buffer.alloc(0));
    }
    await Promise.resolve();
  }
  assert.ok(ends[1].heard === sent[0] && ends[0].heard === sent[1], "each side has heard what the other has sent");
}

test(`random streams come unchanged, however they are split, stopped and congested (seed ${seed})`, async () => {
  for (let draw = 0; draw < 20; draw += 1) await runRandomly(seededRandom(seed + draw));
});
