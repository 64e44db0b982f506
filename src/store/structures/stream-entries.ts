/**
 * The entries of a stream in the order of their ids, in chunks.
 *
 * (1) No chunk is empty. Every chunk but the last one is packed.
 * (2) `length` and `#chunkBytes` are the sums over the chunks.
 */
import { IdOrder } from "./id-order.ts";
import { StreamChunk, type StreamEntry } from "./stream-chunk.ts";
import { compareIds, ID_MAX, ID_MIN, type StreamId } from "./stream-id.ts";

/** Memory of each chunk in the order of chunks. */
const ORDERED_BYTES = 12;

export class StreamEntries {
  readonly #chunks = new IdOrder<StreamChunk>();
  #length = 0;
  #chunkBytes = 0;
  #work = 0;

  get length(): number {
    return this.#length;
  }

  get memoryBytes(): number {
    return this.#chunkBytes + this.#chunks.size * ORDERED_BYTES;
  }

  /** The number of chunks. */
  get chunkCount(): number {
    return this.#chunks.size;
  }

  /** Entries and chunks examined so far. Only grows; complexity tests read it. */
  get work(): number {
    return this.#work + this.#chunks.work;
  }

  get first(): StreamEntry | undefined {
    return this.#edge(false);
  }

  get last(): StreamEntry | undefined {
    return this.#edge(true);
  }

  /** Appends an entry; its id must be the greatest. */
  append(entry: StreamEntry): void {
    const last = this.#chunks.last;
    this.#length += 1;
    this.#work += 1;
    if (last?.hasRoom(entry.values) === true) {
      const before = last.memoryBytes;
      last.append(entry);
      this.#chunkBytes += last.memoryBytes - before;
      return;
    }
    if (last !== undefined) {
      const before = last.memoryBytes;
      last.pack(); // keeps (1)
      this.#chunkBytes += last.memoryBytes - before;
    }
    const chunk = new StreamChunk(entry);
    this.#chunks.insert(chunk);
    this.#chunkBytes += chunk.memoryBytes;
  }

  has(id: StreamId): boolean {
    return this.find(id) !== undefined;
  }

  find(id: StreamId): StreamEntry | undefined {
    let found: StreamEntry | undefined;
    this.visit(id, id, (entry) => {
      found = entry;
      return false;
    });
    return found;
  }

  /** Calls `visit` for the entries from one id to another, both included, until it returns false. */
  visit(from: StreamId, to: StreamId, visit: (entry: StreamEntry) => boolean): void {
    if (compareIds(from, to) > 0) return;
    const counted = (entry: StreamEntry): boolean => {
      this.#work += 1;
      return visit(entry);
    };
    // The chunk that begins before `from` may reach into the range.
    this.#chunks.visit(this.#chunks.atOrBefore(from) ?? from, to, (chunk) => chunk.visit(from, to, counted));
  }

  /** As `visit`, in reverse order. */
  visitBackwards(from: StreamId, to: StreamId, visit: (entry: StreamEntry) => boolean): void {
    if (compareIds(from, to) > 0) return;
    this.#chunks.visitBackwards(this.#chunks.atOrBefore(from) ?? from, to, (chunk) => {
      const entries = chunk.entries(from, to);
      this.#work += entries.length;
      for (let i = entries.length - 1; i >= 0; i -= 1) if (!visit(entries[i] as StreamEntry)) return false;
      return true;
    });
  }

  /** The number of entries before this id; stops counting at `countMax`. */
  countBefore(id: StreamId, countMax: number): number {
    let count = 0;
    // Whole chunks are counted if the next one also begins before the id.
    let previous: StreamChunk | undefined;
    this.#chunks.visit(ID_MIN, id, (chunk) => {
      if (previous !== undefined) count += previous.count;
      previous = chunk;
      return count < countMax;
    });
    previous?.visit(ID_MIN, id, (entry) => {
      if (compareIds(entry, id) < 0) count += 1;
      return count < countMax;
    });
    return Math.min(count, countMax);
  }

  /** Removes a number of entries, which must exist, from the front. */
  dropFirst(count: number): void {
    this.#length -= count;
    for (let left = count; left > 0; ) {
      const chunk = this.#chunks.first as StreamChunk;
      this.#work += 1;
      if (chunk.count > left) {
        this.#change(chunk, () => chunk.dropFirst(left));
        return;
      }
      left -= chunk.count;
      this.#remove(chunk);
    }
  }

  /** Removes the entry with this id, and returns whether it existed. */
  remove(id: StreamId): boolean {
    if (!this.has(id)) return false;
    const chunk = this.#chunks.atOrBefore(id) as StreamChunk;
    this.#length -= 1;
    if (chunk.count === 1) this.#remove(chunk);
    else this.#change(chunk, () => chunk.remove(id));
    return true;
  }

  /** The chunk that has the entry with this id, if it exists. */
  chunkOf(id: StreamId): StreamChunk | undefined {
    return this.has(id) ? this.#chunks.atOrBefore(id) : undefined;
  }

  /** The chunks that have the first entries, as many as `count`. */
  firstChunks(count: number): StreamChunk[] {
    const found: StreamChunk[] = [];
    let left = count;
    this.#chunks.visit(ID_MIN, ID_MAX, (chunk) => {
      if (left <= 0) return false;
      left -= chunk.count;
      return found.push(chunk) > 0;
    });
    return found;
  }

  /** Puts back the entries that a chunk has now, if entries of it have only been removed since. */
  chunkRestorer(chunk: StreamChunk): () => void {
    const saved = new StreamChunk(chunk);
    return () => {
      const now = this.#chunks.remove(saved);
      if (now !== undefined) {
        this.#length -= now.count;
        this.#chunkBytes -= now.memoryBytes;
      }
      this.#chunks.insert(saved);
      this.#length += saved.count; // keeps (2)
      this.#chunkBytes += saved.memoryBytes;
    };
  }

  copy(): StreamEntries {
    const copy = new StreamEntries();
    for (const chunk of this.#chunks.all()) copy.#chunks.insert(new StreamChunk(chunk));
    copy.#length = this.#length;
    copy.#chunkBytes = this.#chunkBytes;
    return copy;
  }

  #edge(isLast: boolean): StreamEntry | undefined {
    const chunk = isLast ? this.#chunks.last : this.#chunks.first;
    if (chunk === undefined) return undefined;
    if (isLast) return chunk.entries(ID_MIN, ID_MAX).at(-1);
    let first: StreamEntry | undefined;
    chunk.visit(ID_MIN, ID_MAX, (entry) => {
      first = entry;
      return false;
    });
    return first;
  }

  #change(chunk: StreamChunk, change: () => void): void {
    const before = chunk.memoryBytes;
    change();
    this.#chunkBytes += chunk.memoryBytes - before; // keeps (2)
  }

  #remove(chunk: StreamChunk): void {
    this.#chunkBytes -= chunk.memoryBytes; // keeps (2)
    this.#chunks.remove(chunk);
  }
}
