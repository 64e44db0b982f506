/**
 * How a process becomes a life of its node.
 *
 * (1) The data directory has the life of the process before. Its lock proves
 *     that this process has ended, so that the new life replaces it without a
 *     wait.
 * (2) A process may end before it knows whether its life was registered, so the
 *     life is written to the directory before, and the next process registers the
 *     same life again: nothing was done under it.
 * (3) A process on another directory finds its name taken. It watches the life that
 *     has it: one that renews keeps the name, and one that is silent for a lease is
 *     declared dead. Without this, nodes that all lost their directories would
 *     wait for each other permanently.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { LogStore, NodeRegistration, NodeView } from "../log-store/log-store.ts";
import { BeatWatch } from "./beat-watch.ts";
import { POLL_PERIOD_MS, RETRY_MS } from "./bounds.ts";

/** The lives of a data directory. */
export interface Lives {
  /** The last one that was registered. */
  readonly former: string | undefined;
  /** One that may have been registered since. */
  readonly next: string | undefined;
}

/** A file in the locked data directory. */
export interface LifeFile {
  read(): Promise<Lives>;
  /** Resolves when it is on the disk. */
  write(lives: Lives): Promise<void>;
}

export interface RegistrationOptions {
  readonly stores: {
    readonly polls: Pick<LogStore, "watch">;
    readonly changes: Pick<LogStore, "register" | "declareDead">;
  };
  readonly node: Pick<NodeRegistration, "name" | "address" | "format" | "tenantsSeen" | "keyChecks">;
  readonly file: LifeFile;
  readonly clock: Clock;
  readonly log: Log;
  /** A new UUID. */
  drawLife(): string;
}

/** Returns the life of this process, or undefined if another process lives under the same name. Waits for the store. */
export async function registerNode(options: RegistrationOptions): Promise<string | undefined> {
  const registration = new Registration(options);
  const { former, next } = await options.file.read();
  // keeps (2)
  if (next !== undefined && (await registration.tryLife(next, former))) return next;
  // A life that an earlier process registered may have been declared dead since, so it is replaced too.
  const life = options.drawLife();
  await options.file.write({ former, next: life });
  while (!(await registration.tryLife(life, former))) if (await registration.hasLivingRival()) return undefined;
  return life;
}

class Registration {
  readonly #options: RegistrationOptions;
  readonly #beats = new BeatWatch();
  /** The life that has the name, as it was first seen. */
  #rival: NodeView | undefined;

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  /** keeps (1) */
  async tryLife(life: string, formerLife: string | undefined): Promise<boolean> {
    const { stores, node, file, clock, log } = this.#options;
    let isDone: boolean | undefined;
    while (isDone === undefined) {
      try {
        isDone = await stores.changes.register({ ...node, life, formerLife, clockMs: clock.nowMs() });
      } catch (error) {
        // If this node cannot register, the rival can perhaps not renew.
        this.#beats.restart();
        log.warn("node not registered", faultFields(error));
        await this.#sleep(RETRY_MS);
      }
    }
    if (isDone) await file.write({ former: life, next: undefined });
    return isDone;
  }

  /** Whether the life that has the name was seen to renew. Waits for one poll: keeps (3). */
  async hasLivingRival(): Promise<boolean> {
    const { stores, node, clock, log } = this.#options;
    const sentMs = clock.monotonicMs();
    try {
      const { nodes } = await stores.polls.watch();
      this.#beats.saw(nodes, { sentMs, answeredMs: clock.monotonicMs() });
      const rival = nodes.find(({ name, isDead }) => name === node.name && !isDead);
      const known = this.#rival ?? rival;
      if (rival?.life !== known?.life || rival?.beat !== known?.beat) return rival !== undefined;
      this.#rival = rival;
      const silent = this.#beats.silent().find(({ life }) => life === rival?.life);
      if (silent !== undefined) await stores.changes.declareDead(silent.life, silent.beat);
    } catch (error) {
      this.#beats.restart();
      log.warn("the node that has this name was not watched", { name: node.name, ...faultFields(error) });
    }
    await this.#sleep(Math.max(0, POLL_PERIOD_MS - (clock.monotonicMs() - sentMs)));
    return false;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve));
  }
}
