/**
 * The read-your-writes token. One node always reads its own writes, so the
 * client's token is ignored; but clients expect a value in every response, never
 * empty and never the same twice (A.sync-token).
 */

/** The spelling for a client that sends no token. */
const DEFAULT_HEADER = "Upstash-Sync-Token";

const spellings = new Map([
  ["service-sync-token", "Service-Sync-Token"],
  ["upstash-sync-token", "Upstash-Sync-Token"],
]);

/** The header name of the answer, in the client's spelling. `requested` is its lower-case name. */
export function syncTokenHeader(requested: string | undefined): string {
  return (requested === undefined ? undefined : spellings.get(requested)) ?? DEFAULT_HEADER;
}

/** Draws tokens. `boot` distinguishes runs of the server. */
export class SyncTokens {
  readonly #boot: string;
  #count = 0;

  constructor(boot: string) {
    this.#boot = boot;
  }

  next(): string {
    this.#count += 1;
    return `${this.#boot}:${this.#count}`;
  }
}
