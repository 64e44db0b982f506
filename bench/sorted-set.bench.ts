/**
 * Question: which structure suits the order of a large sorted set, and what
 * does a whole sorted set cost?
 *
 * Method: each structure has its own process. N members of 16 bytes
 * with random scores are inserted; then ranks of random members are read, ranges
 * of ten at random ranks, scores are changed, and half of the members are removed
 * from the low end, one by one. `skip list` is the pointer structure of Redis
 * with spans, for comparison; `tree` is `structures/score-tree.ts`, `sorted set`
 * is the tree with its dictionary, as ZADD, ZRANK, ZRANGE and ZPOPMIN use it.
 *
 * Read: nanoseconds per call, and resident bytes per member in addition to the member's
 * own text. The tree is worthwhile while it is faster than the skip list at
 * each of them and takes fewer bytes.
 *
 * Run: npm run bench -- sorted-set   (or node --expose-gc bench/sorted-set.bench.ts [N])
 */
import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { type Random, seededRandom } from "../src/kernel/random.ts";
import { ScoreTree } from "../src/store/structures/score-tree.ts";
import { SortedSetValue } from "../src/store/values/sorted-set.ts";

interface Order {
  add(member: string, score: number): void;
  change(member: string, from: number, to: number): void;
  rank(member: string, score: number): number | undefined;
  /** Reads ten members, starting at a rank. */
  read(rank: number): number;
  popLowest(): void;
}

interface SkipNode {
  readonly member: string;
  readonly score: number;
  readonly next: (SkipNode | undefined)[];
  readonly spans: number[];
}

const LEVELS_MAX = 32;

/** Redis' structure: towers of pointers, each with the number of members it passes. */
class SkipList implements Order {
  readonly #random: Random = seededRandom(7);
  readonly #head: SkipNode = {
    member: "",
    score: Number.NEGATIVE_INFINITY,
    next: new Array<SkipNode | undefined>(LEVELS_MAX).fill(undefined),
    spans: new Array<number>(LEVELS_MAX).fill(0),
  };
  readonly #path: SkipNode[] = [];
  readonly #ranks: number[] = [];
  #levels = 1;
  #size = 0;

  add(member: string, score: number): void {
    this.#descend(member, score);
    let levels = 1;
    while (levels < LEVELS_MAX && this.#random.below(4) === 0) levels += 1;
    for (; this.#levels < levels; this.#levels += 1) {
      this.#path[this.#levels] = this.#head;
      this.#ranks[this.#levels] = 0;
      this.#head.spans[this.#levels] = this.#size;
    }
    const node: SkipNode = { member, score, next: [], spans: [] };
    for (let level = 0; level < this.#levels; level += 1) {
      const before = this.#path[level] as SkipNode;
      const passed = (this.#ranks[0] as number) - (this.#ranks[level] as number);
      if (level < levels) {
        node.next.push(before.next[level]);
        node.spans.push((before.spans[level] as number) - passed);
        before.next[level] = node;
        before.spans[level] = passed + 1;
      } else {
        before.spans[level] = (before.spans[level] as number) + 1;
      }
    }
    this.#size += 1;
  }

  change(member: string, from: number, to: number): void {
    this.#descend(member, from);
    this.#removeNext();
    this.add(member, to);
  }

  rank(member: string, score: number): number {
    this.#descend(member, score);
    return this.#ranks[0] as number;
  }

  read(rank: number): number {
    let node = this.#head;
    let passed = 0;
    for (let level = this.#levels - 1; level >= 0; level -= 1) {
      for (let next = node.next[level]; next !== undefined; next = node.next[level]) {
        if (passed + (node.spans[level] as number) > rank + 1) break;
        passed += node.spans[level] as number;
        node = next;
      }
    }
    let sum = 0;
    let at: SkipNode | undefined = node;
    for (let count = 0; count < 10 && at !== undefined; count += 1) {
      sum += at.score;
      at = at.next[0];
    }
    return sum;
  }

  popLowest(): void {
    for (let level = 0; level < this.#levels; level += 1) this.#path[level] = this.#head;
    this.#removeNext();
  }

  #removeNext(): void {
    const gone = (this.#path[0] as SkipNode).next[0] as SkipNode;
    for (let level = 0; level < this.#levels; level += 1) {
      const before = this.#path[level] as SkipNode;
      if (before.next[level] === gone) {
        before.spans[level] = (before.spans[level] as number) + (gone.spans[level] as number) - 1;
        before.next[level] = gone.next[level];
      } else {
        before.spans[level] = (before.spans[level] as number) - 1;
      }
    }
    this.#size -= 1;
  }

  #descend(member: string, score: number): void {
    let node = this.#head;
    let rank = 0;
    for (let level = this.#levels - 1; level >= 0; level -= 1) {
      for (let next = node.next[level]; next !== undefined; next = node.next[level]) {
        if (!(next.score < score || (next.score === score && next.member < member))) break;
        rank += node.spans[level] as number;
        node = next;
      }
      this.#path[level] = node;
      this.#ranks[level] = rank;
    }
  }
}

function treeOrder(): Order {
  const tree = new ScoreTree();
  return {
    add: (member, score) => tree.insert(score, member),
    change: (member, from, to) => tree.move(member, { from, to }),
    rank: (member, score) => tree.rankOf(score, member),
    read: (rank) => {
      let sum = 0;
      tree.visit(rank, 10, (_, score) => {
        sum += score;
      });
      return sum;
    },
    popLowest: () => tree.removeRanks(0, 1),
  };
}

function sortedSetOrder(): Order {
  const sortedSet = new SortedSetValue(Uint8Array.of(3, 1, 4, 1, 5, 9, 2, 6));
  return {
    add: (member, score) => sortedSet.put(member, score),
    change: (member, _, to) => sortedSet.put(member, to),
    rank: (member) => sortedSet.rankOf(member),
    read: (rank) => {
      let sum = 0;
      sortedSet.visit({ from: rank, count: 10 }, (_, score) => {
        sum += score;
      });
      return sum;
    },
    popLowest: () => sortedSet.deleteRanks({ from: 0, count: 1 }),
  };
}

const orders: Record<string, () => Order> = {
  "skip list": () => new SkipList(),
  tree: treeOrder,
  "sorted set": sortedSetOrder,
};

/** Calls of each kind in addition to insertions. */
const CALLS = 200_000;

function nanosecondsEach(count: number, call: (i: number) => void): number {
  const startMs = performance.now();
  for (let i = 0; i < count; i += 1) call(i);
  return Math.round(((performance.now() - startMs) * 1e6) / count);
}

function residentBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function measure(name: string, count: number): Record<string, string | number> {
  const make = orders[name];
  if (make === undefined) throw new Error(`no structure is called ${name}`);
  const random = seededRandom(1);
  const members = Array.from({ length: count }, (_, i) =>
    Buffer.from(`member:${String(i).padStart(9, "0")}`).latin1Slice(),
  );
  const scores = Float64Array.from({ length: count }, () => random.unit() * 1e6);
  const warmUp = make();
  for (let i = 0; i < 20_000; i += 1) warmUp.add(`warm:${i}`, random.unit());
  for (let i = 0; i < 20_000; i += 1) warmUp.read(random.below(19_000));

  const order = make();
  const emptyBytes = residentBytes();
  const addNs = nanosecondsEach(count, (i) => order.add(members[i] as string, scores[i] as number));
  const bytes = Math.round((residentBytes() - emptyBytes) / count);
  const rankNs = nanosecondsEach(CALLS, () => {
    const i = random.below(count);
    order.rank(members[i] as string, scores[i] as number);
  });
  const readNs = nanosecondsEach(CALLS, () => void order.read(random.below(count - 10)));
  const changeNs = nanosecondsEach(CALLS, () => {
    const i = random.below(count);
    const to = random.unit() * 1e6;
    order.change(members[i] as string, scores[i] as number, to);
    scores[i] = to;
  });
  const popNs = nanosecondsEach(count >> 1, () => order.popLowest());
  return { structure: name, members: count, addNs, rankNs, readTenNs: readNs, changeNs, popNs, bytes };
}

const [countText = "1000000", name] = process.argv.slice(2);
if (name === undefined) {
  const rows = Object.keys(orders).map((order) =>
    JSON.parse(
      execFileSync(process.execPath, ["--expose-gc", fileURLToPath(import.meta.url), countText, order], {
        encoding: "utf8",
      }),
    ),
  );
  console.table(rows);
} else {
  console.log(JSON.stringify(measure(name, Number(countText))));
}
