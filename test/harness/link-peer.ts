/** One end of a link whose frames a test writes and reads: either side of `src/edge/forward/link/`. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { createServer } from "node:tls";
import type { OwnerAddress } from "../../src/edge/forward/front.ts";
import {
  type Kind,
  kinds,
  LINK_PROTOCOL,
  LinkFrameReader,
  LinkFrameWriter,
} from "../../src/edge/forward/link/frames.ts";
import { connectWithKey, type NamedKey, SharedKeys } from "../../src/edge/http/shared-key.ts";

export const LINK_KEY: NamedKey = { name: "larder-0", secret: new Uint8Array(32).fill(7) };

export interface LinkFrame {
  readonly kind: string;
  readonly number: number;
  /** After the number, each character a byte. */
  readonly rest: string;
}

/** An integer of 4 or 2 bytes, each character a byte. */
export function uint(value: number, bytes: 4 | 2 = 4): string {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer.toString("latin1");
}

/** The rest of a frame with an answer. */
export function answerRest(status: number, fields: string, body: string): string {
  return uint(status, 2) + uint(body.length) + uint(fields.length) + fields + body;
}

/** The rest of a frame that asks for a tunnel to this shard, for a client with port 9. */
export function openRest(shard: number, address = "192.0.2.7"): string {
  return uint(shard) + uint(9, 2) + address;
}

/** The text of a head for a client at 192.0.2.7. */
export function headOf(method: string, target: string, more = ""): string {
  return `${method} ${target} HTTP/1.1\r\nHost: a\r\n${more}Larder-Forwarded: 2;9;192.0.2.7\r\n\r\n`;
}

/** A frame to send: its kind by name or number, its number, and the rest. */
export type SentFrame = readonly [kind: keyof typeof kinds | number, number: number, rest?: string];

export class LinkPeer {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** Those that were not taken by `next`. */
  readonly frames: LinkFrame[] = [];
  readonly #reader = new LinkFrameReader();
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => {});
    socket.on("data", (packet: Buffer) => {
      this.#reader.add(packet);
      while (this.#reader.next()) {
        const { kind, number, size } = this.#reader;
        const name = Object.entries(kinds).find(([, value]) => value === kind)?.[0] ?? String(kind);
        this.frames.push({ kind: name, number, rest: this.#reader.text(0, size) });
      }
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        resolve();
        this.#wake();
      });
    });
  }

  /** Sends frames in one write. */
  send(...frames: readonly SentFrame[]): this {
    const writer = new LinkFrameWriter();
    for (const [kind, number, rest = ""] of frames) {
      writer.begin((typeof kind === "string" ? kinds[kind] : kind) as Kind, number, rest.length);
      writer.text(rest);
    }
    this.socket.write(Buffer.concat(writer.take()));
    return this;
  }

  /** The next frame, of this kind if one is named; those before it are dropped. */
  async next(kind?: keyof typeof kinds): Promise<LinkFrame> {
    for (;;) {
      const frame = this.frames.shift();
      if (frame !== undefined && (kind === undefined || frame.kind === kind)) return frame;
      if (frame !== undefined) continue;
      assert.ok(!this.socket.closed, "the link has closed");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** A link to the port of a node, as another node opens it that speaks this version. */
export function askingPeer({ host, port }: Pick<OwnerAddress, "host" | "port">, protocol = LINK_PROTOCOL): LinkPeer {
  return new LinkPeer(connectWithKey({ host, port }, LINK_KEY, [protocol]));
}

export interface OwningPeers {
  readonly at: OwnerAddress;
  readonly opened: readonly LinkPeer[];
}

/** A server of links of this version that a test answers. `accept` is called with each. */
export async function owningPeers(
  context: { after(task: () => unknown): void },
  accept: (peer: LinkPeer) => unknown,
  protocol = LINK_PROTOCOL,
): Promise<OwningPeers> {
  const opened: LinkPeer[] = [];
  const options = { ...new SharedKeys([LINK_KEY]).serverOptions, ALPNProtocols: [protocol] };
  const server = createServer(options, (socket) => {
    const peer = new LinkPeer(socket);
    opened.push(peer);
    Promise.resolve(accept(peer)).catch((fault: unknown) => {
      // It waits for a frame when the test ends.
      if (!socket.destroyed) throw fault;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.close();
    for (const { socket } of opened) socket.destroy();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { at: { node: "b", host: "127.0.0.1", port: address.port }, opened };
}
