/** One outgoing request and what came of it: the words between the messaging routes and the outbound client. */

export interface OutboundCall {
  /** Connections are shared by the calls of one user only (threat C-15). */
  readonly user: string;
  /** As published: absolute, http or https. */
  readonly url: string;
  readonly method: string;
  /** name, value, name, value …: complete but for Host, Content-Length and framing. */
  readonly headers: readonly string[];
  /** May be empty. In pieces if there are several, which are not changed. */
  readonly body: Buffer | readonly Buffer[];
  /** For everything together: waiting for a connection, look-up, connecting, sending, the whole answer. */
  readonly timeoutMs: number;
}

/** Is told of the result. A promise says until when the body of the answer takes memory; without one it takes none any more. */
export type OutboundDone = (result: OutboundResult) => Promise<void> | void;

export type OutboundResult = OutboundAnswer | OutboundFailure;

export interface OutboundAnswer {
  readonly kind: "answer";
  readonly status: number;
  /** name, value, name, value … as they came, in Latin-1. */
  readonly headers: readonly string[];
  /** As it came: compressed bytes stay compressed. */
  readonly body: Buffer;
  /** The answer was longer than is kept; the rest was not read. */
  readonly isBodyCut: boolean;
}

export interface OutboundFailure {
  readonly kind: "failure";
  /** One sentence for logs and records: no query, no header, no stack. */
  readonly text: string;
  /** When the answer broke off behind its status line and headers. */
  readonly status?: number;
}
