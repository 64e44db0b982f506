/** The journal of an engine that is there before its journal, because the journal is opened by recovering into the engine. */

/** What every engine needs of a journal. */
export interface SubjectJournal {
  append(frame: Uint8Array): number;
  readonly end: number;
  readonly safe: number;
  whenSafe(position: number): Promise<void>;
  readonly refusal: string | undefined;
}

export class LateJournal implements SubjectJournal {
  /** Undefined while the past is replayed: what is appended then is kept nowhere. */
  inner: SubjectJournal | undefined;
  /** Told behind each frame. */
  onAppend: () => void = () => {};

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
