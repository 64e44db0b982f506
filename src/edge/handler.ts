/**
 * The edge without a transport: a handler is a function from a request to a
 * reply. `node-http.ts` binds it to `node:http`; a stricter, faster listener
 * can take its place because nothing else in `edge/` sees a `node:http` object.
 */

export interface HttpRequest {
  readonly method: string;
  /** Path and query as written on the request line, not decoded. Always starts with `/`. */
  readonly target: string;
  /** The value of a header by its lower-case name; several of one name are joined with `, `. */
  header(name: string): string | undefined;
  /** All headers in the order they came: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  /** The whole body, already within the byte limit. Empty when there is none. */
  readonly body: Buffer;
  /** The address of the peer, without its port. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** A short id for log lines. */
  readonly id: string;
}

export interface HttpReply {
  readonly status: number;
  /** name, value, name, value, … `content-length` is added by the transport. */
  readonly headers: readonly string[];
  readonly body: string | Buffer;
}

/** A reply that goes on: event streams. Headers are flushed at once. */
export interface HttpStream {
  readonly status: number;
  readonly headers: readonly string[];
  /** Called once when the headers are on their way. The returned function is called once when the peer has gone or the server drains. */
  readonly open: (sink: StreamSink) => () => void;
}

export interface StreamSink {
  /** Queues bytes; false when the peer reads slower than we write. */
  write(chunk: string | Buffer): boolean;
  /** Bytes queued and not yet taken by the peer. */
  readonly queuedBytes: number;
  end(): void;
}

export type Handler = (request: HttpRequest) => HttpReply | HttpStream | Promise<HttpReply | HttpStream>;
