/**
 * Reads an event stream of a server for the tests: its head, and its events as
 * they arrive, by the rules of the HTML standard (server-sent events).
 */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";

export interface StreamOptions {
  readonly method?: string;
  readonly body?: string;
  /** Sent with `Accept: text/event-stream`, or instead of it. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Null sends none. */
  readonly token: string | null;
}

export class EventReader {
  readonly #sent: ClientRequest;
  readonly #response: IncomingMessage;
  /** The data of the events that have arrived and were not read. */
  readonly #events: string[] = [];
  /** The number of comments that have arrived. */
  readonly comments: string[] = [];
  #rest = "";
  #data: string[] = [];
  #wake: (() => void) | undefined;
  #isEnded = false;
  /** All received text, unchanged. */
  text = "";

  constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#sent = sent;
    this.#response = response;
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => this.#read(chunk));
    // A closed connection is an ordinary end.
    response.on("error", () => {});
    response.on("close", () => {
      this.#isEnded = true;
      this.#wake?.();
    });
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }

  get headers(): IncomingHttpHeaders {
    return this.#response.headers;
  }

  /** The data of the next event; undefined at the end. */
  async next(): Promise<string | undefined> {
    while (this.#events.length === 0 && !this.#isEnded) await this.#more();
    return this.#events.shift();
  }

  /** The data of the next `count` events. */
  async take(count: number): Promise<readonly (string | undefined)[]> {
    const events: (string | undefined)[] = [];
    while (events.length < count) events.push(await this.next());
    return events;
  }

  /** Resolves when that many comments have arrived. */
  async untilComments(count: number): Promise<void> {
    while (this.comments.length < count && !this.#isEnded) await this.#more();
  }

  /** Resolves when the stream has ended. */
  async untilEnd(): Promise<void> {
    while (!this.#isEnded) await this.#more();
  }

  /** Reads nothing more until `resume`. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  /** Disconnects, as a client that no longer reads. */
  leave(): void {
    this.#sent.destroy();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #read(chunk: string): void {
    this.text += chunk;
    const lines = (this.#rest + chunk).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) this.#data.push(line.replace(/^data: ?/, ""));
      else if (line.startsWith(":")) this.comments.push(line);
      else if (line === "" && this.#data.length > 0) {
        this.#events.push(this.#data.join("\n"));
        this.#data = [];
      }
    }
    this.#wake?.();
  }
}

/** Opens a stream; resolves when its head has arrived, whatever its status. */
export function openStream(url: string, options: StreamOptions): Promise<EventReader> {
  const { method = "POST", body, headers = {}, token } = options;
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method,
        agent: false,
        headers: {
          accept: "text/event-stream",
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => resolve(new EventReader(sent, response)),
    );
    sent.on("error", reject);
    sent.end(body);
  });
}
