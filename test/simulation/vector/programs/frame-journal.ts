/** A journal in memory that is always safe and keeps every frame. */
import type { Journal } from "../../../../src/kernel/journal.ts";

export class FrameJournal implements Journal {
  readonly appendedOffset = 0;
  readonly frames: Buffer[];
  readonly refusal = undefined;

  constructor(frames: readonly Buffer[]) {
    this.frames = [...frames];
  }

  append(frame: Uint8Array): number {
    this.frames.push(Buffer.from(frame));
    return this.end;
  }

  get end(): number {
    return this.frames.length;
  }

  get safe(): number {
    return this.end;
  }

  async whenSafe(): Promise<void> {}
}
