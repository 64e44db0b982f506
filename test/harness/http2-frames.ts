/**
 * A client of HTTP/2 that sends exactly the frames that a test makes, in or out of order (RFC 9113 section 4). By itself
 * it only acknowledges SETTINGS.
 */
import { connect, type TLSSocket } from "node:tls";
import { localCertificates } from "./local-certificates.ts";

export const type = { data: 0, headers: 1, priority: 2, reset: 3, settings: 4, ping: 6, goaway: 7, window: 8, more: 9 };
export const flag = { ack: 1, endStream: 1, endHeaders: 4 };
/** RFC 9113 section 7. */
export const errorCode = { none: 0, protocol: 1, refused: 7, cancel: 8, calm: 11 };
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES = 9;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(kind: number, stream: number, payload: Buffer | string = "", flags = 0): Buffer {
  const body = Buffer.from(payload);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** SETTINGS with one setting. */
export function setting(id: number, value: number): Buffer {
  return frame(type.settings, 0, Buffer.concat([Buffer.from([0, id]), uint32(value)]));
}

/** Fields as literals without indexing (RFC 7541 section 6.2.2). */
export function fieldBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer => Buffer.concat([lengthOf(value.length), Buffer.from(value, "latin1")]);
  return Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])));
}

/** An integer with a prefix of seven bits (RFC 7541 section 5.1). */
function lengthOf(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

export const GET: readonly (readonly [string, string])[] = [
  [":method", "GET"],
  [":scheme", "https"],
  [":path", "/"],
  [":authority", "a"],
];

/** A request in one frame, without a body. */
export function request(stream: number, fields = GET): Buffer {
  return frame(type.headers, stream, fieldBlock(fields), flag.endHeaders | flag.endStream);
}

export function reset(stream: number): Buffer {
  return frame(type.reset, stream, uint32(errorCode.cancel));
}

export interface FramePeerOptions {
  readonly settings?: Buffer;
  readonly acknowledges?: boolean;
}

export class FramePeer {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  isClosed = false;
  readonly #acknowledges: boolean;
  #bytes = Buffer.alloc(0);
  #wake: () => void = () => {};

  /** `settings`: the frame after the preface. */
  constructor(port: number, { settings = frame(type.settings, 0), acknowledges = true }: FramePeerOptions = {}) {
    this.#acknowledges = acknowledges;
    const { certificate: ca } = localCertificates[0];
    this.socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca, ALPNProtocols: ["h2"] });
    this.socket.on("data", (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      this.#read();
      this.#wake();
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.isClosed = true;
      this.#wake();
    });
    this.socket.write(PREFACE);
    this.socket.write(settings);
  }

  send(...frames: readonly Buffer[]): this {
    if (!this.isClosed) this.socket.write(Buffer.concat(frames));
    return this;
  }

  /** Resolves with the first frame that matches, or with undefined if the connection closes before. */
  async find(matches: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(matches);
      if (found !== undefined || this.isClosed) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** How the stream ended: the bytes of its response, or the code of its reset. */
  async endOf(stream: number): Promise<string> {
    const last = await this.find(
      (each) =>
        each.stream === stream &&
        (each.type === type.reset || (each.type <= type.headers && (each.flags & flag.endStream) !== 0)),
    );
    if (last === undefined) return "closed";
    if (last.type === type.reset) return `reset ${last.payload.readUInt32BE(0)}`;
    const data = this.frames.filter((each) => each.stream === stream && each.type === type.data);
    return Buffer.concat(data.map(({ payload }) => payload)).latin1Slice();
  }

  /** The code of the GOAWAY; undefined if the connection closes without one. */
  async goaway(): Promise<number | undefined> {
    return (await this.find((each) => each.type === type.goaway))?.payload.readUInt32BE(4);
  }

  /** Resolves when the server has seen our acknowledgement of its SETTINGS: it has answered a later PING. */
  async opened(): Promise<void> {
    await this.find((each) => each.type === type.settings && each.flags === 0);
    this.send(frame(type.ping, 0, "12345678"));
    await this.find((each) => each.type === type.ping && each.flags === flag.ack);
  }

  async untilClosed(): Promise<void> {
    await this.find(() => false);
  }

  #read(): void {
    while (this.#bytes.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < end) return;
      const [kind, flags] = [this.#bytes.readUInt8(3), this.#bytes.readUInt8(4)];
      const stream = this.#bytes.readUInt32BE(5);
      this.frames.push({ type: kind, flags, stream, payload: Buffer.from(this.#bytes.subarray(HEAD_BYTES, end)) });
      this.#bytes = this.#bytes.subarray(end);
      if (kind === type.settings && flags === 0 && this.#acknowledges) this.send(frame(type.settings, 0, "", flag.ack));
    }
  }
}
