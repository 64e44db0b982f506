/**
 * The read-your-writes token. One node always reads its own writes, so what a
 * client sends is ignored; but the clients expect a value in every response,
 * never empty and never the same twice (A.sync-token).
 */

/** The spelling for a client that named none. */
const DEFAULT_HEADER = "Upstash-Sync-Token";

const spellings = new Map([
  ["service-sync-token", "Service-Sync-Token"],
  ["upstash-sync-token", "Upstash-Sync-Token"],
]);

/** The header name of the answer, spelled as the client asked. `asked` is its lower-case name. */
export function syncTokenHeader(asked: string | undefined): string {
  return (asked === undefined ? undefined : spellings.get(asked)) ?? DEFAULT_HEADER;
}

/** Draws tokens. `boot` tells the runs of the server apart. */
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
