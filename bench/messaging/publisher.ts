/** A connection that publishes one message at a time, as a client with keep-alive does. */
import { connect, type Socket } from "node:net";

/** A body begins with the number of its message, in this many digits. */
export const NUMBER_DIGITS = 10;

export interface PublishRequest {
  readonly bytes: Buffer;
  /** The start of the body, where the number of the message is written. */
  readonly bodyStart: number;
}

/** A publish as bytes on the wire. The body is the number of its message, then spaces. */
export function publishRequest(options: {
  path: string;
  headers: readonly (readonly [string, string])[];
  bodyBytes: number;
}): PublishRequest {
  const { path, headers, bodyBytes } = options;
  const fields = [["host", "127.0.0.1"], ...headers, ["content-length", `${bodyBytes}`]];
  const lines = [`POST ${path} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)];
  const head = `${lines.join("\r\n")}\r\n\r\n`;
  return { bytes: Buffer.from(head + " ".repeat(bodyBytes)), bodyStart: Buffer.byteLength(head) };
}

export class Publisher {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #bodyStart: number;
  #answer: Buffer = Buffer.alloc(0);
  #done: ((isAccepted: boolean) => void) | undefined;

  constructor(port: number, { bytes, bodyStart }: PublishRequest) {
    this.#request = Buffer.from(bytes);
    this.#bodyStart = bodyStart;
    this.#socket = connect(port, "127.0.0.1").setNoDelay(true);
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", () => this.#finish(false));
    this.#socket.on("close", () => this.#finish(false));
  }

  get isBusy(): boolean {
    return this.#done !== undefined;
  }

  /** Resolves with true if it was accepted. */
  publish(number: number): Promise<boolean> {
    this.#request.latin1Write(String(number).padStart(NUMBER_DIGITS, "0"), this.#bodyStart);
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#socket.write(this.#request);
    });
  }

  #read(chunk: Buffer): void {
    this.#answer = this.#answer.length === 0 ? chunk : Buffer.concat([this.#answer, chunk]);
    const text = this.#answer.latin1Slice();
    const headEnd = text.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const bodyBytes = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    if (this.#answer.length < headEnd + 4 + bodyBytes) return;
    this.#answer = Buffer.alloc(0);
    this.#finish(text.startsWith("HTTP/1.1 2"));
  }

  #finish(isAccepted: boolean): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(isAccepted);
  }
}
