/**
 * Checks the bodies in segments that a start does not read.
 *
 *     at the start        each such segment: does it exist, with its header and its end? That takes two short reads
 *     after the start     each segment completely, at a rate that leaves the disk to others
 *     if one is damaged   each body in it, to report which messages are lost
 *
 * A damaged body prevents nothing else: its message fails with a reason, and all
 * others continue. The log and the metric `larder_messaging_damaged_bodies`
 * report the damage.
 */

import { systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { BodyDamaged, type BodySource, type Engine, findDamagedBodies } from "../../messaging/mod.ts";
import type { AreaStorage } from "../../persistence/area-storage.ts";
import { DamagedData } from "../../persistence/errors.ts";
import { SegmentRemoved } from "../../persistence/journal/segment-reader.ts";
import { codeOf } from "../refusal.ts";

/** Pause after each megabyte: at most 100 MB/s. */
const PAUSE_MS = 10;
/** How many damaged bodies the log names; the others are counted. */
const NAMED_COUNT = 100;

export class StoredBodiesCheck {
  readonly #engine: Engine;
  readonly #storage: AreaStorage;
  readonly #log: Log;
  /** Damaged or missing segments. */
  readonly #bad = new Set<number>();
  #isStopped = false;
  #endPause: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor({ engine, storage, log }: { engine: Engine; storage: AreaStorage; log: Log }) {
    this.#engine = engine;
    this.#storage = storage;
    this.#log = log;
  }

  /** At the start: reports missing or truncated segments. Rejects with the system's error. */
  async checkEnds(): Promise<void> {
    const present = new Set(this.#storage.segments.map(({ number }) => number));
    for (const [segment, bytes] of this.#engine.state.bodies.liveBytes) {
      if (!present.has(segment)) this.#note(segment, { bytes, fault: "the journal file is missing" });
    }
    for (const { number, bytes } of this.#needed()) {
      const fault = await this.#storage.checkCovered(number, { depth: "ends" });
      if (fault !== undefined) this.#note(number, { bytes, fault: fault.message });
    }
  }

  /** Checks everything once, in the background. */
  start(): void {
    this.#running = this.#checkAll().catch((fault: unknown) => {
      this.#log.warn("the stored bodies could not be checked", faultFields(fault));
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endPause();
    await this.#running;
  }

  async #checkAll(): Promise<void> {
    for (const { number, bytes } of this.#needed()) {
      if (this.#isStopped) return;
      if (this.#bad.has(number)) continue;
      const fault = await this.#storage.checkCovered(number, { depth: "whole", onPart: () => this.#pause() });
      if (fault !== undefined) this.#note(number, { bytes, fault: fault.message });
    }
    if (this.#bad.size === 0 || this.#isStopped) return;
    const damaged = await findDamagedBodies(this.#engine.state, this.#bad);
    for (const { user, owner } of damaged.slice(0, NAMED_COUNT)) {
      this.#log.error("a body is damaged on the disk", { user, owner });
    }
    this.#log.error("damaged journal files were checked", {
      files: this.#bad.size,
      damagedBodies: damaged.length,
    });
  }

  #note(segment: number, fields: { bytes: number; fault: string }): void {
    this.#bad.add(segment);
    this.#log.error("a journal file with bodies of messages is damaged", { segment, ...fields });
  }

  /** Covered segments that contain bodies. */
  #needed(): readonly { readonly number: number; readonly bytes: number }[] {
    const { liveBytes } = this.#engine.state.bodies;
    return this.#storage.segments.filter(({ number, isCovered }) => isCovered && liveBytes.has(number));
  }

  #pause(): Promise<void> | undefined {
    // The rest of the segment is read without a pause.
    if (this.#isStopped) return undefined;
    return new Promise((resolve) => {
      const cancel = systemClock.after(PAUSE_MS, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Bodies of an area, with messaging's errors. */
export function bodySource(storage: Pick<AreaStorage, "read">): BodySource {
  return {
    async read(segment, offset, length) {
      try {
        return await storage.read(segment, offset, length);
      } catch (cause) {
        if (isDamage(cause)) throw new BodyDamaged(cause.message, { cause });
        throw cause;
      }
    },
  };
}

/** A segment that is missing, too short, or that the disk cannot read. */
function isDamage(fault: unknown): fault is Error {
  if (fault instanceof SegmentRemoved) return codeOf(fault.cause) === "ENOENT";
  return fault instanceof DamagedData || codeOf(fault) === "EIO";
}
