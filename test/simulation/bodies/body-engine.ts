/**
 * A small engine that holds no body in memory, only the place of each body in
 * the journal. A frame is a line of text followed by the body: `put 7`,
 * `drop 7`, and in a snapshot `at 7 <segment> <offset> <bytes>`.
 */
import type { Journal } from "../../../src/kernel/journal.ts";
import type { JournalLocation } from "../../../src/persistence/journal/file-format.ts";
import type { WrittenBatch } from "../../../src/persistence/journal/journal.ts";
import type { SnapshotEngine } from "../../../src/persistence/snapshot.ts";

export interface BodyPlace {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
}

type BodyJournal = Pick<Journal, "append" | "appendedOffset">;

interface Unwritten {
  readonly id: string;
  readonly position: number;
  /** In the batch. */
  readonly offset: number;
  readonly bytes: number;
}

export class BodyEngine implements SnapshotEngine {
  /** All live bodies; the place is undefined until the body is written. */
  readonly bodies = new Map<string, BodyPlace | undefined>();
  readonly #unwritten: Unwritten[] = [];

  replay(frame: Buffer, place: JournalLocation | undefined): void {
    const { verb, id, numbers, bodyStart } = parseFrame(frame);
    const [segment = 0, offset = 0, bytes = 0] = numbers;
    if (verb === "drop") this.bodies.delete(id);
    else if (verb === "at") this.bodies.set(id, { segment, offset, bytes });
    else if (place === undefined) throw new Error("A segment frame must have a place");
    else {
      const { length } = frame;
      this.bodies.set(id, { segment: place.segment, offset: place.offset + bodyStart, bytes: length - bodyStart });
    }
  }

  *dump(): Iterable<Uint8Array> {
    for (const [id, place] of this.bodies) {
      if (place === undefined) throw new Error("A replayed body must have a place");
      yield Buffer.from(`at ${id} ${place.segment} ${place.offset} ${place.bytes}\n`);
    }
  }

  /** Puts a new body, or moves a live one. The old place stays valid until the new one is written. */
  put(journal: BodyJournal, id: string, frame: Buffer): void {
    const position = journal.append(frame);
    const { bodyStart } = parseFrame(frame);
    const offset = journal.appendedOffset + bodyStart;
    this.#unwritten.push({ id, position, offset, bytes: frame.length - bodyStart });
    this.bodies.set(id, this.bodies.get(id));
  }

  drop(journal: BodyJournal, id: string): void {
    journal.append(dropFrame(id));
    this.bodies.delete(id);
  }

  written(batch: WrittenBatch): void {
    for (let next = this.#unwritten[0]; next !== undefined && next.position <= batch.end; next = this.#unwritten[0]) {
      this.#unwritten.shift();
      const { id, offset, bytes } = next;
      if (next.position <= batch.start) throw new Error("A batch was not reported");
      if (!this.bodies.has(id)) continue;
      this.bodies.set(id, { segment: batch.segment, offset: batch.offset + offset, bytes });
    }
  }

  liveIn(segment: number): string[] {
    return [...this.bodies].filter(([, place]) => place?.segment === segment).map(([id]) => id);
  }
}

export function putFrame(id: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`put ${id}\n`), body]);
}

export function dropFrame(id: string): Buffer {
  return Buffer.from(`drop ${id}\n`);
}

/** The live bodies after these frames. */
export function bodiesBehind(frames: readonly Buffer[]): Map<string, Buffer> {
  const bodies = new Map<string, Buffer>();
  for (const frame of frames) {
    const { verb, id, bodyStart } = parseFrame(frame);
    if (verb === "drop") bodies.delete(id);
    else bodies.set(id, frame.subarray(bodyStart));
  }
  return bodies;
}

function parseFrame(frame: Buffer): { verb: string; id: string; numbers: number[]; bodyStart: number } {
  const lineEnd = frame.indexOf("\n");
  const [verb = "", id = "", ...numbers] = frame.toString("latin1", 0, lineEnd).split(" ");
  return { verb, id, numbers: numbers.map(Number), bodyStart: lineEnd + 1 };
}
