/**
 * A connected socket on the short way: writes ordinary requests and reads ordinary
 * answers, one after the other.
 *
 * (1) It takes nothing from bytes that it does not understand: it passes them on,
 *     and another reader begins with them.
 * (2) After `leave`, nothing reads the socket, and no byte of it is lost.
 */
import type { Socket } from "node:net";
import type { OutboundCall } from "../call.ts";
import { IDLE_MS, type PlainAnswer, PlainAnswerReader } from "./answer.ts";
import { plainRequest } from "./request.ts";

/** A connection is not used for longer. */
export const AGE_MS_MAX = 60_000;

export interface PlainListener {
  answered(answer: PlainAnswer): void;
  /** Bytes that are no plain answer, from their first one on. */
  other(bytes: Buffer): void;
  /** The destination has closed the connection, or the system has. */
  ended(error: Error): void;
  /** Nothing was sent or received for as long as the connection may be idle. */
  idle(): void;
}

export class PlainSocket {
  readonly socket: Socket;
  readonly #host: string;
  readonly #listener: PlainListener;
  readonly #answers = new PlainAnswerReader();

  /** `host` is the value of the header. */
  constructor(socket: Socket, host: string, listener: PlainListener) {
    this.socket = socket;
    this.#host = host;
    this.#listener = listener;
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
    socket.on("timeout", this.#onTimeout);
    socket.setTimeout(IDLE_MS);
    // Only calls keep the process running, and they have a timer.
    socket.unref();
  }

  write(call: OutboundCall, path: string): void {
    const { socket } = this;
    const { text, body } = plainRequest(call, path, this.#host);
    if (body === undefined) {
      socket.write(text, "latin1");
      return;
    }
    socket.cork();
    socket.write(text, "latin1");
    socket.write(body);
    socket.uncork();
  }

  /** keeps (2) */
  leave(): void {
    const { socket } = this;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    socket.off("timeout", this.#onTimeout);
    socket.setTimeout(0);
    socket.pause();
  }

  readonly #onData = (bytes: Buffer): void => {
    const answer = this.#answers.read(bytes);
    if (answer === undefined) {
      this.#listener.other(bytes); // keeps (1)
      return;
    }
    const idleMs = Math.min(answer.idleMs, AGE_MS_MAX);
    if (this.socket.timeout !== idleMs) this.socket.setTimeout(idleMs);
    this.#listener.answered(answer);
  };

  readonly #onEnd = (): void => this.#listener.ended(socketError("other side closed"));

  readonly #onClose = (): void => this.#listener.ended(socketError("closed"));

  readonly #onError = (error: Error): void => this.#listener.ended(error);

  readonly #onTimeout = (): void => this.#listener.idle();
}

/** The error of the HTTP client for a connection that has ended. */
export function socketError(text: string): Error {
  return Object.assign(new Error(text), { code: "UND_ERR_SOCKET" });
}

/**
 * Lets a client that is about to write a request read `bytes` as the beginning of its answer. The request was sent
 * already, so what the client writes is dropped.
 */
export function replayAnswer(socket: Socket, bytes: Buffer): void {
  let isWritten = false;
  socket.write = () => {
    // The client expects an answer only when it has written the whole request.
    if (!isWritten) {
      queueMicrotask(() => {
        Reflect.deleteProperty(socket, "write");
        if (!socket.destroyed) socket.unshift(bytes);
      });
    }
    isWritten = true;
    return true;
  };
}
