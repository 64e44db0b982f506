/**
 * The log store as PostgreSQL would answer it, in memory: the same statements
 * with the same waits, over tables in versions. A test compares it with
 * PostgreSQL (`test/differential/cluster/`).
 *
 * Each call that changes something asks its session before it commits, so that a
 * schedule decides when it does and whether.
 */
import {
  type Append,
  type AppendOutcome,
  type Claim,
  type ClaimedShard,
  type ClusterChanges,
  type ClusterView,
  type FencedOutcome,
  type LogRow,
  type LogStore,
  type NodeRegistration,
  type NodeView,
  type NumberedNode,
  type RemovalOutcome,
  type Renewal,
  SET_BACK_MS_MAX,
  type SegmentView,
  type ShardEpoch,
  type ShardHead,
  type ShardView,
  SnapshotIncomplete,
  type SnapshotPart,
  type SnapshotPointer,
} from "../../../src/cluster/log-store/log-store.ts";
import { Snapshot, type Statement, Transaction, VersionedTable } from "./versioned-table.ts";

interface NodeRow extends NumberedNode {
  readonly clockMs: number;
  /** The transaction that has last changed what others follow. */
  readonly changed: number;
}

interface ShardRow extends ShardView {
  readonly floorMs: number;
  readonly hashSeed: Buffer;
  readonly snapshot: SnapshotPointer | undefined;
  /** The transaction that has last changed what others follow. */
  readonly changed: number;
}

interface StoredRow {
  readonly shard: number;
  readonly segment: number;
  readonly start: number;
  readonly epoch: number;
  readonly bytes: Buffer;
}

interface StoredPart {
  readonly shard: number;
  readonly epoch: number;
  readonly number: number;
  readonly part: number;
  readonly bytes: Buffer;
}

function viewOfNode({ clockMs: _, changed: __, number: ___, ...node }: NodeRow): NodeView {
  return node;
}

function numberedNode(row: NodeRow): NumberedNode {
  return { ...viewOfNode(row), number: row.number };
}

/** The view of each version of a row is made once: a simulation of many nodes has many readers. */
const shardViews = new WeakMap<ShardRow, ShardView>();

function viewOfShard(row: ShardRow): ShardView {
  const known = shardViews.get(row);
  if (known !== undefined) return known;
  const { hashSeed: _, floorMs: __, snapshot: ___, changed: ____, ...view } = row;
  shardViews.set(row, view);
  return view;
}

/** As the triggers do that write `changed`: `followed` returns what others follow. */
function stampWith<Row extends { readonly changed: number }>(followed: (row: Row) => object) {
  return (row: Row, before: Row | undefined, transaction: number): Row => {
    const isSame = before !== undefined && JSON.stringify(followed(before)) === JSON.stringify(followed(row));
    return { ...row, changed: isSame ? before.changed : transaction };
  };
}

/** The tables that all sessions share. */
export class ModelDatabase {
  readonly nodes: VersionedTable<NodeRow>;
  readonly shards: VersionedTable<ShardRow>;
  readonly log: VersionedTable<StoredRow>;
  readonly parts: VersionedTable<StoredPart>;
  /** The address of the object store that snapshots go to. */
  files: string | undefined;
  commits = 0;
  /** The transaction of each commit, from the first on. */
  readonly #committed: Transaction[] = [];
  readonly #running = new Set<Transaction>();
  #nextTransaction = 1;
  #nextNode = 1;
  /** Which server answers. */
  #server = "server-1";
  #servers = 1;
  /** Of a primary that is cut off, which does not follow what is committed. */
  #lastSnapshot: Snapshot | undefined;
  readonly #clockMs: () => number;

  /** With the tables of another one, or with new ones. */
  constructor(clockMs: () => number, tables?: Pick<ModelDatabase, "nodes" | "shards" | "log" | "parts">) {
    this.#clockMs = clockMs;
    this.nodes =
      tables?.nodes ?? new VersionedTable({ stamp: stampWith((row) => ({ ...viewOfNode(row), beat: undefined })) });
    this.shards =
      tables?.shards ?? new VersionedTable({ stamp: stampWith(viewOfShard), indexed: ({ owner }: ShardRow) => owner });
    this.log = tables?.log ?? new VersionedTable();
    this.parts = tables?.parts ?? new VersionedTable();
  }

  /** What a primary that is cut off from now on would answer to readers. */
  frozen(): ModelDatabase {
    const frozen = new ModelDatabase(this.#clockMs, this);
    frozen.commits = this.commits;
    frozen.#lastSnapshot = this.snapshot;
    this.#servers += 1;
    frozen.#server = `server-${this.#servers}`;
    return frozen;
  }

  get server(): string {
    return this.#server;
  }

  /** That of a statement that begins now. */
  get snapshot(): Snapshot {
    const running = [...this.#running].map(({ number }) => number);
    return this.#lastSnapshot ?? new Snapshot(this.#nextTransaction, running);
  }

  /** The number of a new row of a node. */
  drawNodeNumber(): number {
    this.#nextNode += 1;
    return this.#nextNode - 1;
  }

  get clockMs(): number {
    return this.#clockMs();
  }

  /** A statement that only reads. */
  begin(): Statement {
    return { transaction: new Transaction(), commits: this.commits };
  }

  beginChange(): Statement {
    const transaction = new Transaction(this.#nextTransaction);
    this.#nextTransaction += 1;
    this.#running.add(transaction);
    return { transaction, commits: this.commits };
  }

  commit({ transaction }: Statement): void {
    this.commits += 1;
    this.#committed.push(transaction);
    this.#running.delete(transaction);
    transaction.end(this.commits);
  }

  abort({ transaction }: Statement): void {
    this.#running.delete(transaction);
    transaction.end("aborted");
  }

  /** Another server takes over that has only the first `kept` commits. It uses the numbers of the others again. */
  failOver(kept: number): void {
    for (const transaction of this.#committed.slice(kept)) transaction.lose();
    const known = [...this.#committed.slice(0, kept), ...this.#running].map(({ number }) => number);
    this.#nextTransaction = Math.max(0, ...known) + 1;
    this.#servers += 1;
    this.#server = `server-${this.#servers}`;
  }
}

export interface ModelLogStoreOptions {
  readonly database: ModelDatabase;
  /** Called when the statement of a change has run; the change is undone if it resolves with false. */
  mayCommit(): Promise<boolean>;
}

/** The transaction was undone before its commit. */
export class Aborted extends Error {
  override name = "Aborted";
}

export class ModelLogStore implements LogStore {
  readonly #database: ModelDatabase;
  readonly #mayCommit: () => Promise<boolean>;

  constructor({ database, mayCommit }: ModelLogStoreOptions) {
    this.#database = database;
    this.#mayCommit = mayCommit;
  }

  async addShards(shards: readonly { shard: number; area: string; hashSeed: Buffer }[]): Promise<void> {
    for (const { shard, area, hashSeed } of shards) {
      const nobody = { owner: undefined, ownerName: undefined, heir: undefined, pin: undefined };
      const row = { shard, area, hashSeed, epoch: 0, ...nobody, tries: 0, floorMs: 0, writerFormat: 1, changed: 0 };
      await this.#change((statement) =>
        this.#database.shards.insert(`${shard}`, statement, { ...row, snapshot: undefined }),
      );
    }
  }

  register({ name, life, formerLife, address, format, clockMs }: NodeRegistration): Promise<boolean> {
    const { nodes } = this.#database;
    const fresh = { beat: 0, isDead: false, isDrained: false, keyNumber: 0 };
    const row = { name, life, ...fresh, address, format, clockMs, changed: 0 };
    return this.#change(async (statement) => {
      const number = this.#database.drawNodeNumber();
      const taken = await nodes.insert(name, statement, { ...row, number });
      if (taken === undefined) return true;
      const isRepeated = taken.life === life;
      const mayReplace = isRepeated ? !taken.isDead : taken.isDead || taken.life === formerLife;
      if (!mayReplace) return false;
      const beat = isRepeated ? taken.beat : 0;
      const { isDrained } = taken;
      const keyNumber = isRepeated ? taken.keyNumber : 0;
      nodes.update(name, statement, {
        ...row,
        number: taken.number,
        beat,
        isDrained,
        keyNumber,
        clockMs: laterClock(clockMs, taken.clockMs),
      });
      return true;
    });
  }

  renew(life: string, clockMs: number): Promise<Renewal | undefined> {
    const { nodes, shards } = this.#database;
    return this.#change(async (statement) => {
      const name = this.#nameOf(life, statement);
      const row = await nodes.lock(name, statement, (node) => node.life === life && !node.isDead);
      if (row === undefined) return undefined;
      const beat = row.beat + 1;
      nodes.update(name, statement, { ...row, beat, clockMs: laterClock(clockMs, row.clockMs) });
      const owned = shards
        .rowsWith(life, statement)
        .map(({ shard, epoch }) => ({ shard, epoch }))
        .sort((a, b) => a.shard - b.shard);
      return { beat, storeClockMs: this.#database.clockMs, owned };
    });
  }

  watch(): Promise<ClusterView> {
    const statement = this.#database.begin();
    const nodes = this.#database.nodes.rows(statement).map(([, node]) => viewOfNode(node));
    const shards = this.#database.shards.rows(statement).map(([, shard]) => viewOfShard(shard));
    // Keys are rotated by a command, which is not a part of the store.
    return Promise.resolve({ keyNumber: 0, nodes: nodes.sort(byName), shards: shards.sort(byNumber), tenants: 0 });
  }

  watchChanges(position?: string): Promise<ClusterChanges> {
    const { nodes, shards, server, snapshot } = this.#database;
    const statement = this.#database.begin();
    const [seenServer, text] = position?.split(" ") ?? [];
    const seen = seenServer === server && text !== undefined ? Snapshot.parse(text) : undefined;
    const allNodes = nodes.rows(statement).map(([, node]) => node);
    const changedShards =
      seen === undefined
        ? shards.rows(statement).map(([, shard]) => shard)
        : shards
            .rowsWritten({ min: seen.min, max: snapshot.max }, statement)
            .filter(({ changed }) => !seen.sees(changed));
    return Promise.resolve({
      position: `${server} ${snapshot}`,
      isWhole: seen === undefined,
      keyNumber: 0,
      tenants: 0,
      beats: allNodes.filter(({ isDead }) => !isDead).map(({ number, beat }) => [number, beat] as const),
      nodes: allNodes
        .filter(({ changed }) => seen?.sees(changed) !== true)
        .map(numberedNode)
        .sort(byName),
      shards: changedShards.map(viewOfShard).sort(byNumber),
    });
  }

  declareDead(life: string, beat: number): Promise<number | undefined> {
    const { nodes } = this.#database;
    return this.#change(async (statement) => {
      const name = this.#nameOf(life, statement);
      const row = await nodes.lock(name, statement, (node) => node.life === life && node.beat === beat);
      if (row === undefined) return undefined;
      nodes.update(name, statement, { ...row, isDead: true });
      return row.clockMs;
    });
  }

  claim({ shard, epoch, life, format }: Claim): Promise<ClaimedShard | undefined> {
    const { nodes, shards } = this.#database;
    return this.#change(async (statement) => {
      // Conditions on nodes are about those that the statement sees, also after a wait for the shard.
      const all = nodes.rows(statement).map(([, node]) => node);
      const alive = new Set(all.filter(({ isDead }) => !isDead).map((node) => node.life));
      const row = await shards.lock(
        `${shard}`,
        statement,
        ({ epoch: current, owner, writerFormat, isHeld }) =>
          writerFormat <= format &&
          isHeld !== true &&
          alive.has(life) &&
          ((current === epoch && !alive.has(owner ?? "")) || (current === epoch + 1 && owner === life)),
      );
      if (row === undefined) return undefined;
      const isRepeated = row.epoch !== epoch;
      const former = all.find(({ name }) => name === row.ownerName);
      const isKnown = !isRepeated && former !== undefined;
      const floorMs = isKnown ? laterClock(former.clockMs, row.floorMs) : row.floorMs;
      const tries = isRepeated ? row.tries : row.tries + 1;
      const owner = { owner: life, ownerName: all.find((node) => node.life === life)?.name, heir: undefined };
      shards.update(`${shard}`, statement, {
        ...row,
        ...owner,
        epoch: epoch + 1,
        tries,
        floorMs,
        writerFormat: format,
      });
      return { epoch: epoch + 1, floorMs, hashSeed: row.hashSeed, snapshot: row.snapshot };
    });
  }

  recovered(shard: ShardEpoch): Promise<FencedOutcome> {
    return this.#fenced(shard, (statement, row) => {
      this.#database.shards.update(`${shard.shard}`, statement, { ...row, tries: 0 });
    });
  }

  pin(shard: number, pin: string | undefined): Promise<void> {
    return this.#administer(shard, { pin });
  }

  /** As a command does that replaces the contents of a shard. */
  hold(shard: number, isHeld: boolean): Promise<void> {
    return this.#administer(shard, { isHeld });
  }

  async setDrained(name: string, isDrained: boolean): Promise<void> {
    await this.#change(async (statement) => {
      const { nodes } = this.#database;
      const row = await nodes.lock(name, statement, () => true);
      if (row !== undefined) nodes.update(name, statement, { ...row, isDrained });
    });
  }

  async noteKey(life: string, keyNumber: number): Promise<void> {
    await this.#change(async (statement) => {
      const { nodes } = this.#database;
      const name = this.#nameOf(life, statement);
      const row = await nodes.lock(name, statement, (node) => node.life === life && node.keyNumber < keyNumber);
      if (row !== undefined) nodes.update(name, statement, { ...row, keyNumber });
    });
  }

  forgetTries(shard: number): Promise<void> {
    return this.#administer(shard, { tries: 0 });
  }

  announce({ shard, epoch }: ShardEpoch, heir: string): Promise<FencedOutcome> {
    const { shards } = this.#database;
    return this.#change(async (statement) => {
      const isOwned = (row: ShardRow): boolean => row.epoch === epoch && row.owner !== undefined;
      const row = await shards.lock(`${shard}`, statement, isOwned);
      if (row === undefined) return "deposed";
      shards.update(`${shard}`, statement, { ...row, heir });
      return "committed";
    });
  }

  release(shard: ShardEpoch, heir: string | undefined): Promise<FencedOutcome> {
    return this.#fenced(shard, (statement, row) => {
      this.#database.shards.update(`${shard.shard}`, statement, { ...row, owner: undefined, heir });
    });
  }

  async append(append: Append): Promise<AppendOutcome> {
    const { shard, epoch, segment, start, bytes } = append;
    const { log } = this.#database;
    const key = logKey(shard, segment, start);
    const outcome = await this.#change<AppendOutcome | "not inserted">(async (statement) => {
      const owned = await this.#own({ shard, epoch }, statement);
      if (owned === undefined) return "deposed";
      if (segment < (owned.snapshot?.number ?? 0)) return "not inserted";
      const isNext = start === 0 ? this.#mayBegin(owned, segment, statement) : this.#isNext(append, statement);
      if (!isNext) return "not inserted";
      const taken = await log.insert(key, statement, { shard, segment, start, epoch, bytes });
      return taken === undefined ? "committed" : "not inserted";
    });
    if (outcome !== "not inserted") return outcome;
    const found = log.find(key, this.#database.begin());
    if (found === undefined) return "missing";
    return found.epoch === epoch && found.bytes.equals(bytes) ? "committed" : "foreign";
  }

  /** Whether the first row of a segment follows from the segment before it, or from the latest snapshot. */
  #mayBegin({ shard, snapshot }: ShardRow, segment: number, statement: Statement): boolean {
    if (segment === 1 || segment === snapshot?.number) return true;
    return this.#database.log.rows(statement).some(([, row]) => row.shard === shard && row.segment === segment - 1);
  }

  #isNext({ shard, segment, start, before }: Append, statement: Statement): boolean {
    const previous = this.#database.log.find(logKey(shard, segment, before), statement);
    return previous !== undefined && before + previous.bytes.length === start;
  }

  segments(shard: number): Promise<readonly SegmentView[]> {
    return Promise.resolve(this.#segmentsOf(shard));
  }

  #segmentsOf(shard: number): readonly SegmentView[] {
    const segments = new Map<number, SegmentView>();
    for (const row of this.#rowsOf(shard)) {
      const known = segments.get(row.segment);
      const stop = row.start + row.bytes.length;
      segments.set(row.segment, {
        segment: row.segment,
        epoch: Math.min(known?.epoch ?? row.epoch, row.epoch),
        bytes: Math.max(known?.bytes ?? 0, stop),
      });
    }
    return [...segments.values()].sort((a, b) => a.segment - b.segment);
  }

  heads(shards: readonly number[]): Promise<readonly ShardHead[]> {
    const rows = this.#database.shards.rows(this.#database.begin()).map(([, row]) => row);
    const heads = rows
      .filter(({ shard }) => shards.includes(shard))
      .map(({ shard, epoch, snapshot }): ShardHead => {
        const segments = this.#segmentsOf(shard);
        const last = segments.at(-1);
        const ends = { lastSegment: last?.segment ?? 0, lastBytes: last?.bytes ?? 0 };
        return { shard, epoch, snapshot, firstSegment: segments[0]?.segment ?? 0, ...ends };
      });
    return Promise.resolve(heads.sort((a, b) => a.shard - b.shard));
  }

  read(shard: number, segment: number, start: number, bytesMax: number): Promise<readonly LogRow[]> {
    const rows = this.#rowsOf(shard)
      .filter((row) => row.segment === segment && row.start >= start && row.start < start + Math.max(1, bytesMax))
      .map((row) => ({ segment, start: row.start, bytes: row.bytes }));
    return Promise.resolve(rows.sort((a, b) => a.start - b.start));
  }

  cut(owner: ShardEpoch, segment: number, start: number): Promise<FencedOutcome> {
    const { shard } = owner;
    return this.#fenced(owner, (statement) =>
      this.#removeRows(statement, (row) => row.shard === shard && row.segment === segment && row.start >= start),
    );
  }

  async removeSegments(shard: ShardEpoch, segments: readonly number[]): Promise<RemovalOutcome> {
    let isCovered = false;
    const outcome = await this.#fenced(shard, (statement, { snapshot }) => {
      isCovered = segments.every((segment) => segment < (snapshot?.number ?? 0));
      if (isCovered) this.#removeRows(statement, (row) => row.shard === shard.shard && segments.includes(row.segment));
    });
    return outcome === "committed" && !isCovered ? "uncovered" : outcome;
  }

  putSnapshotPart({ shard, epoch, number, part, bytes }: SnapshotPart): Promise<FencedOutcome> {
    const { parts } = this.#database;
    const key = `${shard}/${epoch}/${number}/${part}`;
    const row = { shard, epoch, number, part, bytes };
    return this.#fenced({ shard, epoch }, async (statement) => {
      const taken = await parts.insert(key, statement, row);
      if (taken !== undefined) parts.update(key, statement, row);
    });
  }

  filesAddress(): Promise<string | undefined> {
    return Promise.resolve(this.#database.files);
  }

  async completeSnapshot(
    shard: ShardEpoch,
    { number, parts: count, bytes, object }: Omit<SnapshotPointer, "epoch">,
  ): Promise<FencedOutcome> {
    const { parts, shards } = this.#database;
    let isWhole = true;
    const outcome = await this.#fenced(shard, (statement, row) => {
      const isOf = (part: StoredPart): boolean =>
        part.epoch === shard.epoch && part.number === number && part.part < count;
      const all = parts.rows(statement).filter(([, part]) => part.shard === shard.shard);
      isWhole = all.filter(([, part]) => isOf(part)).length === count;
      if (!isWhole) return;
      const snapshot = { epoch: shard.epoch, number, parts: count, bytes, ...(object !== undefined && { object }) };
      shards.update(`${shard.shard}`, statement, { ...row, snapshot });
      for (const [key, part] of all) if (!isOf(part)) parts.remove(key, statement);
    });
    if (!isWhole) throw new SnapshotIncomplete(`Snapshot ${number} of shard ${shard.shard} lacks parts`);
    return outcome;
  }

  readSnapshotPart(shard: number, { epoch, number }: SnapshotPointer, part: number): Promise<Buffer | undefined> {
    const key = `${shard}/${epoch}/${number}/${part}`;
    return Promise.resolve(this.#database.parts.find(key, this.#database.begin())?.bytes);
  }

  #rowsOf(shard: number): StoredRow[] {
    return this.#database.log
      .rows(this.#database.begin())
      .map(([, row]) => row)
      .filter((row) => row.shard === shard);
  }

  #removeRows(statement: Statement, isRemoved: (row: StoredRow) => boolean): void {
    const { log } = this.#database;
    for (const [key, row] of log.rows(statement)) if (isRemoved(row)) log.remove(key, statement);
  }

  /** The name is the key of a node's row. A life that is not there is no key. */
  #nameOf(life: string, statement: Statement): string {
    return this.#database.nodes.rows(statement).find(([, node]) => node.life === life)?.[0] ?? "";
  }

  #own({ shard, epoch }: ShardEpoch, statement: Statement): Promise<ShardRow | undefined> {
    return this.#database.shards.lock(`${shard}`, statement, (row) => row.epoch === epoch);
  }

  #fenced(shard: ShardEpoch, change: (statement: Statement, row: ShardRow) => unknown): Promise<FencedOutcome> {
    return this.#change(async (statement) => {
      const row = await this.#own(shard, statement);
      if (row === undefined) return "deposed";
      await change(statement, row);
      return "committed";
    });
  }

  #administer(shard: number, change: Partial<ShardRow>): Promise<void> {
    const { shards } = this.#database;
    return this.#change(async (statement) => {
      const row = await shards.lock(`${shard}`, statement, () => true);
      if (row !== undefined) shards.update(`${shard}`, statement, { ...row, ...change });
    });
  }

  async #change<Result>(run: (statement: Statement) => Promise<Result>): Promise<Result> {
    const statement = this.#database.beginChange();
    const result = await run(statement);
    if (!(await this.#mayCommit())) {
      this.#database.abort(statement);
      throw new Aborted("The transaction was undone");
    }
    this.#database.commit(statement);
    return result;
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function byNumber(a: { readonly shard: number }, b: { readonly shard: number }): number {
  return a.shard - b.shard;
}

function laterClock(reportedMs: number, beforeMs: number): number {
  return beforeMs > reportedMs && beforeMs - reportedMs <= SET_BACK_MS_MAX ? beforeMs : reportedMs;
}

function logKey(shard: number, segment: number, start: number): string {
  return `${shard}/${segment}/${start}`;
}
