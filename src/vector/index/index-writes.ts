/**
 * The writes of one index: upsert, update, delete, and changes of whole
 * namespaces.
 *
 * (1) A request is checked completely before it changes anything. Its changes
 *     are recorded in the journal as one frame and then applied by the same
 *     functions as in a replay. Only a delete of very many records takes several
 *     frames, and is answered after the last one.
 * (2) Namespaces are found by name and journaled by number, so that a rename
 *     moves nothing.
 */

import type { Tenant } from "../../kernel/turns.ts";
import type { DeleteSelection, Eventually } from "../api.ts";
import { canEmbed, checkEmbeds, type Embedders, embedTexts, STAND_IN_DIMENSION } from "../embedding/embedders.ts";
import { notFound, unprocessable, VectorFailure } from "../failure.ts";
import { readFilter } from "../filter/filter-text.ts";
import type { VectorLimits } from "../limits.ts";
import { mergePatch } from "../metadata/patch.ts";
import { LateRows } from "../row-files/late-rows.ts";
import { OutOfMemory } from "../rows/row-memory.ts";
import type { SearchQueue } from "../search/queue.ts";
import type { DailyCount } from "./daily-count.ts";
import { hasDense, type IndexDefinition } from "./definition.ts";
import { DeleteMany, type ManySelected } from "./delete-many.ts";
import type { IndexJournal } from "./index-journal.ts";
import { DEFAULT_NAMESPACE, type IndexChange, type IndexState } from "./index-state.ts";
import type { Namespace } from "./namespace.ts";
import type { NewRecord, NewText, RecordChange } from "./record.ts";
import { checkDense, checkKinds, checkWhole, needsDense, needsSparse } from "./vectors.ts";

export interface IndexWritesOptions {
  readonly state: IndexState;
  readonly journal: IndexJournal;
  readonly embedders: () => Embedders;
  readonly queue: SearchQueue;
  readonly tenant: Tenant;
  readonly limits: VectorLimits;
  /** Updates per day. */
  readonly updateCount: DailyCount;
}

export class IndexWrites {
  readonly #state: IndexState;
  readonly #journal: IndexJournal;
  readonly #embedders: () => Embedders;
  readonly #queue: SearchQueue;
  readonly #tenant: Tenant;
  readonly #limits: VectorLimits;
  readonly #updateCount: DailyCount;

  constructor({ state, journal, embedders, queue, tenant, limits, updateCount }: IndexWritesOptions) {
    this.#state = state;
    this.#journal = journal;
    this.#embedders = embedders;
    this.#queue = queue;
    this.#tenant = tenant;
    this.#limits = limits;
    this.#updateCount = updateCount;
  }

  upsert(namespace: string, records: readonly NewRecord[]): void {
    for (const [index, record] of records.entries())
      checkWhole(this.#definition, record, placeOf(index, records.length));
    this.#put(namespace, records);
  }

  /** Throws if the index may not grow now; then nothing has changed. */
  #checkRoom(): void {
    this.#journal.checkOpen(this.#state);
    if (this.#state.memory.mayGrow) return;
    throw new VectorFailure(
      "unavailable",
      "The memory of the vector index is nearly used up, and this index uses much of it: delete some vectors, or raise --vector-memory",
    );
  }

  async upsertData(namespace: string, records: readonly NewText[]): Promise<void> {
    checkEmbeds(this.#definition, this.#embedders(), "HYBRID");
    this.#checkRoom();
    const texts = records.map(({ data }) => data);
    const pairs = await embedTexts(this.#definition, this.#embedders(), { texts, role: "document", mode: "HYBRID" });
    this.#put(
      namespace,
      records.map((record, index) => ({ ...record, ...pairs[index] })),
    );
  }

  update(namespace: string, change: RecordChange): Eventually<number> {
    this.#checkChange(change);
    const isText = change.data !== undefined && change.vector === undefined && change.sparseVector === undefined;
    const isEmbedded = isText && canEmbed(this.#definition, this.#embedders(), "HYBRID");
    // No model is called for a record that does not exist.
    if (!isEmbedded || this.#state.find(namespace)?.table.find(change.id) === undefined)
      return this.#update(namespace, change);
    const late = new LateRows();
    const before = this.#embedders().isStandIn === true ? this.#textOf(namespace, change.id, late) : undefined;
    const texts = [change.data ?? "", ...(before === undefined ? [] : [before.data])];
    const made = embedTexts(this.#definition, this.#embedders(), { texts, role: "document", mode: "HYBRID" });
    return Promise.all([made, late.read()]).then(([[pair, pairBefore]]) => {
      const isOfClient = before !== undefined && !isEqual(before.vector, pairBefore?.vector);
      return this.#update(namespace, isOfClient ? change : { ...change, ...pair });
    });
  }

  /** The text of a record that exists, and its dense vector. */
  #textOf(
    namespaceName: string,
    id: string,
    late: LateRows,
  ): { readonly data: string; readonly vector: Float32Array | undefined } {
    const namespace = this.#state.find(namespaceName);
    const record = namespace?.table.find(id);
    if (namespace === undefined || record === undefined) return { data: "", vector: undefined };
    return { data: namespace.table.dataOf(record) ?? "", vector: namespace.vectorOf(record, late) };
  }

  delete(namespaceName: string, selection: DeleteSelection): Eventually<number> {
    const selected = selection.kind === "filter" ? manyOf(selection.filter) : selection;
    this.#journal.checkOpen(this.#state);
    const namespace = this.#state.find(namespaceName);
    if (namespace === undefined) return 0;
    if (selected.kind === "ids") return this.#deleteIds(namespace, selected.ids);
    this.#updateCount.add(1);
    const job = new DeleteMany({ state: this.#state, journal: this.#journal, namespace }, selected);
    const done = this.#queue.run(job, this.#tenant);
    return done instanceof Promise ? done.then(() => job.deletedCount) : job.deletedCount;
  }

  reset(namespaceName: string): void {
    this.#journal.checkOpen(this.#state);
    const namespace = this.#state.find(namespaceName);
    if (namespace !== undefined) this.#commit([this.#clear(namespace)]);
  }

  resetAll(): void {
    this.#journal.checkOpen(this.#state);
    this.#commit([...this.#state.namespaces].map((namespace) => this.#clear(namespace)));
  }

  deleteNamespace(name: string): void {
    if (name === DEFAULT_NAMESPACE)
      throw unprocessable('The default namespace, which is the empty string "", cannot be deleted.');
    this.#journal.checkOpen(this.#state);
    const namespace = this.#state.find(name);
    if (namespace === undefined) throw notFound(`Namespace ${name} for the index ${this.#state.name} does not exist`);
    this.#commit([{ kind: "drop namespace", index: this.#state.number, namespace: namespace.number }]);
  }

  renameNamespace(name: string, change: { readonly newName: string; readonly deletesExisting: boolean }): boolean {
    const { newName, deletesExisting } = change;
    if (name === DEFAULT_NAMESPACE)
      throw unprocessable('The default namespace, which is the empty string "", cannot be renamed.');
    if (newName === DEFAULT_NAMESPACE)
      throw unprocessable('newNamespace must not be empty: the default namespace "" always exists');
    this.#journal.checkOpen(this.#state);
    const namespace = this.#state.find(name);
    if (namespace === undefined) return false;
    if (newName === name) return true;
    const index = this.#state.number;
    const existing = this.#state.find(newName);
    if (existing !== undefined && !deletesExisting)
      throw new VectorFailure(
        "conflict",
        `Namespace ${newName} for the index ${this.#state.name} already exists: set deleteExisting to replace it`,
      );
    this.#commit([
      ...(existing === undefined ? [] : [{ kind: "drop namespace", index, namespace: existing.number } as const]),
      { kind: "rename namespace", index, namespace: namespace.number, name: newName },
    ]);
    return true;
  }

  get #definition(): IndexDefinition {
    return this.#state.definition;
  }

  /** Upserts records whose kinds of vectors were checked. */
  #put(namespaceName: string, records: readonly NewRecord[]): void {
    this.#checkRoom();
    if (records.length === 0) return;
    this.#updateCount.add(records.length);
    const definition = this.#definition;
    const dimension = definition.dimension ?? records[0]?.vector?.length;
    for (const [index, { vector }] of records.entries())
      if (vector !== undefined) {
        this.#checkStandIn(vector);
        checkDense(definition, vector, { dimension, limits: this.#limits, place: placeOf(index, records.length) });
      }
    const changes: IndexChange[] = [];
    const { number: index } = this.#state;
    if (hasDense(definition) && definition.dimension === undefined && dimension !== undefined)
      changes.push({ kind: "fix dimension", index, dimension });
    const namespace = this.#state.find(namespaceName)?.number ?? this.#state.nextNamespace;
    if (this.#state.find(namespaceName) === undefined) {
      if (this.#state.namespaceCount >= this.#limits.namespacesMax)
        throw unprocessable(`The index has too many namespaces. Limit: ${this.#limits.namespacesMax}`);
      changes.push({ kind: "create namespace", index, namespace, name: namespaceName });
    }
    let version = this.#state.nextVersion;
    for (const { id, vector, sparseVector, metadata, data } of records) {
      const put = {
        id,
        isWhole: true,
        vector,
        version: vector === undefined ? 0 : version,
        sparseVector,
        metadata,
        data,
      };
      if (vector !== undefined) version += 1;
      changes.push({ kind: "put", index, namespace, put });
    }
    this.#reserve(namespaceName, records);
    this.#commit(changes);
  }

  /** Throws if there is no memory for the vectors of new records; then nothing has changed. */
  #reserve(namespaceName: string, records: readonly NewRecord[]): void {
    if (!hasDense(this.#definition)) return;
    const namespace = this.#state.find(namespaceName);
    let newCount = 0;
    for (const { id } of records) if (namespace?.table.find(id) === undefined) newCount += 1;
    try {
      if (namespace !== undefined && this.#definition.dimension !== undefined) namespace.reserve(newCount);
      else this.#state.checkMemory(newCount, records[0]?.vector?.length ?? 0);
    } catch (fault) {
      if (!(fault instanceof OutOfMemory)) throw fault;
      throw new VectorFailure("unavailable", "There is no memory left for more vectors: delete some first");
    }
  }

  #commit(changes: readonly IndexChange[]): void {
    this.#journal.commit(this.#state, changes);
  }

  #clear({ number }: Namespace): IndexChange {
    return { kind: "clear namespace", index: this.#state.number, namespace: number };
  }

  #deleteIds(namespace: Namespace, ids: readonly string[]): number {
    const known = [...new Set(ids)].filter((id) => namespace.table.find(id) !== undefined);
    this.#updateCount.add(ids.length);
    this.#commit(known.map((id) => ({ kind: "remove", index: this.#state.number, namespace: namespace.number, id })));
    return known.length;
  }

  /** Refuses a change that is invalid for the index, even if the record does not exist. */
  #checkChange({ vector, sparseVector }: RecordChange): void {
    const definition = this.#definition;
    // A missing part is reported before other errors, as for an upsert.
    if (definition.type === "HYBRID" && (vector === undefined) !== (sparseVector === undefined))
      throw vector === undefined ? needsDense : needsSparse;
    checkKinds(definition, { vector, sparseVector }, "");
    if (vector === undefined) return;
    this.#checkStandIn(vector);
    checkDense(definition, vector, { dimension: definition.dimension, limits: this.#limits, place: "" });
  }

  /** Refuses a vector of another dimension than that of the texts that came first, and names the remedy. */
  #checkStandIn({ length }: Float32Array): void {
    const { dimension } = this.#definition;
    if (this.#embedders().isStandIn !== true || dimension !== STAND_IN_DIMENSION || length === dimension) return;
    throw unprocessable(
      `Invalid vector dimension: ${length}, expected: ${dimension}. The index got this dimension from its first text: define it with dimension ${length}, or upsert a vector before the first text`,
    );
  }

  #update(namespaceName: string, change: RecordChange): number {
    this.#checkRoom();
    this.#updateCount.add(1);
    const namespace = this.#state.find(namespaceName);
    const record = namespace?.table.find(change.id);
    if (namespace === undefined || record === undefined) return 0;
    const { id, vector, sparseVector, data } = change;
    const metadata = this.#metadataAfter(() => namespace.metadata.text(record), change);
    const version = vector === undefined ? 0 : this.#state.nextVersion;
    const put = { id, isWhole: false, vector, version, sparseVector, metadata, data };
    this.#commit([{ kind: "put", index: this.#state.number, namespace: namespace.number, put }]);
    return 1;
  }

  #metadataAfter(
    readBefore: () => string | undefined,
    { metadata, metadataUpdateMode }: RecordChange,
  ): string | undefined {
    if (metadata === undefined || metadataUpdateMode === "OVERWRITE") return metadata;
    const merged = mergePatch(readBefore(), metadata);
    const bytesMax = this.#limits.metadataBytesMax;
    if (Buffer.byteLength(merged) > bytesMax)
      throw unprocessable(`metadata would be larger than ${bytesMax} bytes after the patch`);
    return merged;
  }
}

function manyOf(filter: string): ManySelected {
  // Every record passes an empty filter: an omission must not delete everything.
  if (filter === "") throw unprocessable("filter must not be empty");
  return { kind: "filter", filter: readFilter(filter) };
}

function isEqual(one: Float32Array | undefined, other: Float32Array | undefined): boolean {
  return one !== undefined && one.length === other?.length && one.every((value, index) => value === other[index]);
}

/** The prefix of a field's name in an error text. */
function placeOf(index: number, count: number): string {
  return count === 1 ? "" : `vectors[${index}].`;
}
