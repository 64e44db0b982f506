/** The journal of an engine that exists before its journal, because opening the journal recovers into the engine. */

import type { Journal } from "../../../src/kernel/journal.ts";

export class DeferredJournal implements Journal {
  /** Undefined during the replay: frames appended then are not stored. */
  inner: Journal | undefined;
  /** Called after each frame. */
  onAppend: () => void = () => {};

  get appendedOffset(): number {
    return this.inner?.appendedOffset ?? 0;
  }

  get end(): number {
    return this.inner?.end ?? 0;
  }

  get safe(): number {
    return this.inner?.safe ?? 0;
  }

  get refusal(): string | undefined {
    return this.inner?.refusal;
  }

  append(frame: Uint8Array): number {
    const position = this.inner?.append(frame) ?? this.end;
    this.onAppend();
    return position;
  }

  async whenSafe(position: number): Promise<void> {
    await this.inner?.whenSafe(position);
  }
}
