/**
 * The part of a `net.Socket` that connections of RESP clients use. A connection that
 * another node passes on is a socket of its own, or a tunnel of a link
 * (`link/tunnel.ts`).
 */
export interface ByteStream {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly destroyed: boolean;
  readonly closed: boolean;
  /** Bytes may be written. */
  readonly writable: boolean;
  /** Bytes that the next buffer on the way has not taken. */
  readonly writableLength: number;
  /** `drain` follows a write that left `writableLength` above zero, but not every such write. */
  on(event: "data", listener: (chunk: Buffer) => void): this;
  on(event: StreamEvent, listener: () => void): this;
  once(event: "data", listener: (chunk: Buffer) => void): this;
  once(event: StreamEvent, listener: () => void): this;
  off(event: "data", listener: (chunk: Buffer) => void): this;
  off(event: StreamEvent, listener: () => void): this;
  /** `latin1`: each character is a byte. */
  write(chunk: Buffer | string, encoding?: "latin1"): unknown;
  end(): unknown;
  end(chunk: string, encoding?: "latin1"): unknown;
  pause(): unknown;
  resume(): unknown;
  isPaused(): boolean;
  /** Short pieces come as text, each character a byte, so that a reader that passes them on keeps no packet. */
  preferText?(): void;
  /** `timeout` when so long no byte has moved. */
  readonly setTimeout: (ms: number) => unknown;
  destroy(): unknown;
  /** Destroys it when its bytes have been sent. */
  destroySoon(): void;
}

export type StreamEvent = "end" | "drain" | "finish" | "timeout" | "error" | "close";

/** TCP keep-alive of the connections of RESP clients; Redis has the same (`tcp-keepalive`). */
export const KEEP_ALIVE_MS = 300_000;
