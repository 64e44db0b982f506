/** An outgoing request and its result: the types between messaging and the outbound client. */

import type { HeaderTemplate } from "../../messaging/mod.ts";

export interface OutboundCall {
  /** Only calls of one user share connections (threat C-15). */
  readonly user: string;
  /** As published: absolute, http or https. */
  readonly url: string;
  readonly method: string;
  /** name, value, name, value …: all except Host, Content-Length and framing. */
  readonly headers: readonly string[];
  /** The same headers as a template that many calls share, and its values: then they are checked and joined once. */
  readonly template?: HeaderTemplate | undefined;
  readonly values?: readonly string[] | undefined;
  /** May be empty. A list of buffers is sent in pieces, which must not change. */
  readonly body: Buffer | readonly Buffer[];
  /** For everything together: waiting for a connection, look-up, connect, sending, the whole answer. */
  readonly timeoutMs: number;
}

/** Receives the result. Returns a promise if it uses the body of the answer for longer than the call. */
export type OutboundDone = (result: OutboundResult) => Promise<void> | void;

export type OutboundResult = OutboundAnswer | OutboundFailure;

export interface OutboundAnswer {
  readonly kind: "answer";
  readonly status: number;
  /** name, value, name, value … as received, in Latin-1. */
  readonly headers: readonly string[];
  /** As received: compressed bytes stay compressed. */
  readonly body: Buffer;
  /** The answer was longer than the limit; the rest was not read. */
  readonly isBodyCut: boolean;
}

export interface OutboundFailure {
  readonly kind: "failure";
  /** One sentence for logs and records: no query, no header, no stack. */
  readonly text: string;
  /** Present if the answer ended after its status line and headers. */
  readonly status?: number;
}
