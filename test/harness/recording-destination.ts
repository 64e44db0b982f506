/**
 * A destination for deliveries: an HTTP server on a free port of loopback that
 * records deliveries and answers as the test specifies. Nothing here waits for a
 * time: `arrived` waits for deliveries.
 *
 *     await using destination = await startDestination();
 *     destination.answer = () => ({ status: 503 });
 *     await destination.arrived(2);
 *     destination.deliveries[1].body;
 */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Delivery {
  readonly method: string;
  /** Host and path, as in `a.test/b?x=1`. */
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Ends a call that was answered "later"; has no effect on others. */
  readonly answerNow: (answer: Answer) => void;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export class RecordingDestination implements AsyncDisposable {
  /** In the order in which they were completely received. */
  readonly deliveries: Delivery[] = [];
  answer: (delivery: Delivery) => Answer | "later" = () => ({ status: 200 });
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    // An aborted call delivers nothing.
    request.on("error", () => {});
    request.on("end", () => {
      const { method = "", headers } = request;
      this.#take(
        {
          method,
          address: `${headers.host}${request.url}`,
          headers,
          body: Buffer.concat(chunks).toString("utf8"),
          answerNow: (answer) => send(response, answer),
        },
        response,
      );
    });
  });
  #waiting: (() => void)[] = [];

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves with all deliveries when that many have arrived. */
  async arrived(count: number): Promise<readonly Delivery[]> {
    while (this.deliveries.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.deliveries;
  }

  /** Forgets all deliveries, answers 200 to waiting callers, and from now on. */
  clear(): void {
    this.answer = () => ({ status: 200 });
    for (const { answerNow } of this.deliveries.splice(0)) answerNow({ status: 200 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(delivery: Delivery, response: ServerResponse): void {
    this.deliveries.push(delivery);
    const answer = this.answer(delivery);
    if (answer !== "later") send(response, answer);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export async function startDestination(): Promise<RecordingDestination> {
  const destination = new RecordingDestination();
  await destination.open();
  return destination;
}

function send(response: ServerResponse, { status, headers = {}, body = "" }: Answer): void {
  if (response.headersSent) return;
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
