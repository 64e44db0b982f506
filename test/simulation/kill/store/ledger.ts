/**
 * What was sent to a server and what it acknowledged, in the memory of the
 * killing process. A ledger belongs to a data directory and outlives the server.
 */
import { type Clock, systemClock } from "../../../../src/kernel/clock.ts";
import { type Command, type Kind, kinds, type Track, type Value } from "./writes.ts";

/** One write under way. */
export interface Write {
  readonly kind: Kind;
  readonly owner: string;
  readonly n: number;
  readonly commands: readonly Command[];
}

export interface Damage {
  readonly kind: string;
  readonly owner: string;
  readonly what: string;
  /** An acknowledged write is missing. */
  readonly isLoss: boolean;
}

const SHARED = "all";

export class Ledger {
  readonly owners: readonly string[];
  readonly #clock: Clock;
  readonly #tracks = new Map<string, Track>();
  #ackedCount = 0;

  constructor(clientCount: number, clock: Clock = systemClock) {
    this.#clock = clock;
    this.owners = Array.from({ length: clientCount }, (_, index) => `client-${index}`);
    for (const kind of kinds)
      for (const owner of ownersOf(kind, this.owners))
        this.#tracks.set(trackName(kind, owner), { sent: 0, acked: 0, moments: new Map() });
  }

  /** Acknowledged writes of the whole life. */
  get ackedCount(): number {
    return this.#ackedCount;
  }

  /** The next write of a client; counts as sent from now on. */
  next(kind: Kind, client: string): Write {
    const owner = kind.isShared === true ? SHARED : client;
    const track = this.#track(kind, owner);
    track.sent += 1;
    const n = track.sent;
    if (kind.isTimed === true) track.moments.set(n, { sentMs: this.#clock.nowMs(), ackedMs: undefined });
    return { kind, owner, n, commands: kind.write(owner, n) };
  }

  acknowledge({ kind, owner, n }: Write): void {
    const track = this.#track(kind, owner);
    // Clients wait for each answer, so the number is the next one, except where all clients share a count.
    track.acked += 1;
    this.#ackedCount += 1;
    const moments = track.moments.get(n);
    if (moments === undefined) return;
    moments.ackedMs = this.#clock.nowMs();
    for (const older of track.moments.keys()) if (older < n) track.moments.delete(older);
  }

  /** The server is dead: nothing still under way takes effect later than now. */
  closeOpenWrites(): void {
    const nowMs = this.#clock.nowMs();
    for (const track of this.#tracks.values()) for (const moments of track.moments.values()) moments.ackedMs ??= nowMs;
  }

  /**
   * Reads everything back and compares. The next writes continue from the values found.
   *
   * @param run sends commands as one transaction, so that they see one moment, and resolves with their results
   */
  async check(run: (commands: readonly Command[]) => Promise<readonly Value[]>): Promise<readonly Damage[]> {
    const damages: Damage[] = [];
    for (const owner of [SHARED, ...this.owners]) {
      const own = kinds.filter((kind) => ownersOf(kind, this.owners).includes(owner));
      const replies = [...(await run(own.flatMap((kind) => kind.read(owner))))];
      for (const kind of own) {
        const damage = this.#compare(kind, owner, replies.splice(0, kind.read(owner).length));
        if (damage !== undefined) damages.push(damage);
      }
    }
    return damages;
  }

  #compare(kind: Kind, owner: string, replies: readonly Value[]): Damage | undefined {
    const track = this.#track(kind, owner);
    const { sent, acked } = track;
    const finding = kind.find(replies, track);
    const damage = (what: string, isLoss: boolean): Damage => ({ kind: kind.name, owner, what, isLoss });
    if ("wrong" in finding) return damage(`${finding.wrong} (acknowledged ${acked}, sent ${sent})`, true);
    const { found } = finding;
    track.sent = found;
    track.acked = found;
    for (const n of track.moments.keys()) if (n !== found) track.moments.delete(n);
    if (found < acked) return damage(`write ${acked} was acknowledged, ${found} is there`, true);
    if (found > sent) return damage(`write ${sent} was the last one sent, ${found} is there`, false);
    return undefined;
  }

  #track(kind: Kind, owner: string): Track {
    const track = this.#tracks.get(trackName(kind, owner));
    if (track === undefined) throw new Error(`no track for ${kind.name} of ${owner}`);
    return track;
  }
}

function ownersOf(kind: Kind, clients: readonly string[]): readonly string[] {
  return kind.isShared === true ? [SHARED] : clients;
}

function trackName(kind: Kind, owner: string): string {
  return `${kind.name}/${owner}`;
}
