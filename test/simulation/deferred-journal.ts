/**
 * The journal of an engine that exists before its journal, because opening the
 * journal recovers into the engine. It also ends with its process: running code
 * leaves no more traces on the disk.
 */
import type { FrameOwner, Journal } from "../../src/kernel/journal.ts";

export class DeferredJournal implements Journal {
  /** Undefined until the recovery is done: frames appended before are not stored. */
  inner: Journal | undefined;
  /** Called after each frame. Position 0: the frame was appended during the recovery. */
  onAppend: (frame: Buffer, position: number) => void = () => {};
  /** Why this owner may not write now, besides `refusal`. */
  heldOf: (owner: FrameOwner) => string | undefined = () => undefined;
  #isDead = false;

  /** The process is gone. */
  die(): void {
    this.#isDead = true;
  }

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
    return this.#isDead ? "The process is gone" : this.inner?.refusal;
  }

  refusalOf(owner: FrameOwner): string | undefined {
    return this.heldOf(owner) ?? this.refusal;
  }

  get isTight(): boolean {
    return this.inner?.isTight === true;
  }

  lackFor(bytes: number): string | undefined {
    return this.inner?.lackFor?.(bytes);
  }

  append(frame: Uint8Array): number {
    if (this.#isDead) return this.end;
    // The engine may use its buffer again during the append.
    const copy = Buffer.from(frame);
    const position = this.inner?.append(frame) ?? 0;
    this.onAppend(copy, position);
    return position;
  }

  whenSafe(position: number): Promise<void> {
    return this.inner?.whenSafe(position) ?? Promise.resolve();
  }
}
