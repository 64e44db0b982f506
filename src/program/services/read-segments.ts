/** The segments of a journal that the history has read completely, so that only bodies still need them. */

interface SyncedLocation {
  readonly segment: number;
  readonly position: number;
}

export class ReadSegments {
  /** The position after the last frame of each segment, for segments written since the start. */
  readonly #ends = new Map<number, number>();
  #recoveredPosition = 0;

  /** The end position of all segments that existed at the start. */
  recovered({ segment, position }: SyncedLocation): void {
    this.#recoveredPosition = position;
    this.#ends.set(segment, position);
  }

  synced({ segment, position }: SyncedLocation): void {
    this.#ends.set(segment, position);
  }

  /** True if a reader at this position has passed the segment; only for closed segments. */
  isRead(segment: number, position: number): boolean {
    return position >= (this.#ends.get(segment) ?? this.#recoveredPosition);
  }
}
