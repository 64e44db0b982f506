/**
 * Decides which tenant runs next: one object for each thread, used by all work of
 * tenants in it. A unit of work runs without a break: a command, a slice of a
 * pipeline, a script.
 *
 * (1) A request runs on arrival if nothing waits, its tenant has credit, and this
 *     turn of the event loop has used less than TURN_MS. Otherwise it waits with
 *     its tenant, in the order of arrival.
 * (2) Waiting units run after the poll of the event loop, so that all requests
 *     that arrived meanwhile are known: by deficit round robin over the tenants,
 *     for TURN_MS or one unit above that; then the event loop polls again.
 * (3) A tenant with nothing waiting and with credit goes to the front, where
 *     tenants with the shortest recent units come first. So a simple request waits
 *     only for the running unit, however many others wait.
 * (4) The real time of a unit is charged to its tenant afterwards, as is its share
 *     of the time of other threads that work for tenants of this one. The debt
 *     remains when the tenant has nothing waiting, and fades with time, faster the
 *     fewer tenants wait. A tenant that made all of the last ALONE_UNITS requests
 *     has delayed no other: it owes almost nothing, and its requests run on arrival.
 * (5) A unit of HEAVY_MS or more is heavy. The next one of its kind is expected
 *     to be heavy, as is the first of another tenant. After one of c ms, no unit
 *     that is expected to be heavy starts for 3 c ms, unless no other tenant has
 *     made a light request for a while. So heavy units of all tenants together take
 *     at most a quarter of the time while others make light requests.
 * (6) The kind that the engine sets distinguishes requests from upkeep (sweeps,
 *     late answers). Upkeep is charged; no heavy unit waits for it, and it does not
 *     affect expectations.
 *
 * Light traffic costs comparisons and no allocation: `mayRun` reads five fields,
 * and a turn is requested once in ARM_MS of work. A waiting request costs one
 * object and the promise of its caller.
 */
import type { Clock } from "./clock.ts";

/** How long a turn of the event loop runs requests before it polls again, and how long a slice of a pipeline is. */
export const TURN_MS = 5;
/** The time that a tenant may use before the next waiting one; also the most credit that it saves. */
const QUANTUM_MS = 5;
/** A unit that takes this long is heavy. */
export const HEAVY_MS = 100;
/** After a heavy unit, light work gets this many times its duration before the next one. */
const LIGHT_SHARE = 3;
/** The longest pause between heavy units. */
const PAUSE_MS_MAX = 60_000;
/** Without light requests for the duration of the last heavy unit, but at most this long, the next may start. */
const QUIET_MS_MAX = 1_000;
/** For this long after a heavy unit of a kind, the first one of another tenant is expected to be heavy too. */
const HEAVY_KIND_MS = 60_000;
/** Polls of the event loop between heavy units: to accept a connection, and to read from it. */
const POLLS = 2;
/** A larger debt is forgiven. */
const DEBT_MS_MAX = 10_000;
/** The expectation after a large unit fades by this factor with each further one. */
const COST_FADING = 0.95;
/** Requests in a row by one tenant after which it counts as alone: some milliseconds of small requests. */
const ALONE_UNITS = 256;
/** A turn that has used less continues as the next one, so that light traffic requests no turns. */
const ARM_MS = 1;

/** The kind of a unit, for expectations: the number of a command, the name of a route. */
export type UnitKind = number | string;

const NO_KIND: UnitKind = -1;

const SETTLED = Promise.resolve();

/** The event loop of a thread. */
export interface EventLoop {
  /** Runs a task in the next turn, after the input that has arrived by then. */
  nextTurn(task: () => void): void;
  /** Runs a task after all continuations of promises, still within this turn. */
  afterPromises(task: () => void): void;
}

/**
 * Node runs all continuations of settled promises before the next tick. They may have added ticks themselves, for
 * example by a write, so the task is a tick after those.
 */
export const systemLoop: EventLoop = {
  nextTurn: (task) => void setImmediate(task),
  // Not `queueMicrotask`, which allocates an object for the hooks of node each time.
  afterPromises: (task) => void SETTLED.then(() => process.nextTick(process.nextTick, task)),
};

interface Waiting {
  readonly run: () => void;
  readonly isHeavy: boolean;
  readonly sinceMs: number;
}

/** `idle`: nothing waits. `parked`: the first waiting unit is expected to be heavy, and may not start yet. */
type Place = "idle" | "front" | "ring" | "parked";

/** A tenant, whose requests compete for the thread: a database, an index, a user of messaging. */
export class Tenant {
  readonly area: string;
  readonly name: string;
  /** The kind of the running or last unit. The engine sets it. */
  kind: UnitKind = NO_KIND;
  /** The time of this thread since the start, and of others that worked for the tenant. */
  usedMs = 0;
  /** Count of units that had to wait, and the longest wait. */
  waitedCount = 0;
  waitedMsMax = 0;
  heavyCount = 0;
  // `Turns` maintains the following fields.
  place: Place = "idle";
  creditMs = QUANTUM_MS;
  /** The longest recent unit; unknown for a new tenant. */
  costMs = QUANTUM_MS;
  /** The time up to which the credit is computed. */
  creditAtMs = 0;
  /** The kind of the running unit, which may be heavy. */
  isHeavyTurn = false;
  readonly waiting: Waiting[] = [];
  /** Kinds whose units were heavy, with the expected duration of the next one; undefined: none. */
  heavyMs: Map<UnitKind, number> | undefined;
  /** Kinds of which it has run a unit. */
  readonly known = new Set<UnitKind>();
  knownLast: UnitKind = NO_KIND;
  readonly #turns: Turns;

  constructor(turns: Turns, { area, name }: { readonly area: string; readonly name: string }) {
    this.#turns = turns;
    this.area = area;
    this.name = name;
  }

  /** True if a request may run now, on arrival. If not, it waits for `next`. */
  get mayRun(): boolean {
    return this.#turns.mayRun(this);
  }

  /** A command of a kind begins, and may take long. */
  begin(kind: UnitKind, name: string): void {
    this.kind = kind;
    this.#turns.observer.command(name);
  }

  /** True while a unit of some kind is expected to be heavy. */
  get hasHeavy(): boolean {
    return this.heavyMs !== undefined || this.#turns.hasHeavyKinds;
  }

  /** True if a unit of this kind is expected to be heavy: from earlier units, or from other tenants for the first. */
  isHeavy(kind: UnitKind): boolean {
    return this.heavyMs?.has(kind) === true || (this.#turns.heavyKinds.has(kind) && !this.known.has(kind));
  }

  /**
   * True if a unit of this kind must wait because it is expected to be heavy: `next` with `isHeavy`. False once after
   * each such wait.
   */
  mustWaitFor(kind: UnitKind): boolean {
    if (!this.isHeavy(kind)) return false;
    if (!this.isHeavyTurn) return true;
    this.isHeavyTurn = false;
    return false;
  }

  /** Resolves when it is the tenant's turn. The code after it, up to its next wait, is one unit. */
  next(options?: NextOptions): Promise<void> {
    return new Promise((resolve) => this.queue(resolve, options));
  }

  /** Like `next`, with a task. */
  queue(task: () => void, options: NextOptions = AS_IT_COMES): void {
    this.#turns.queue(this, task, options);
  }

  /** Charges a unit that did not wait and has just ended, at `nowMs` of the clock of the thread if that is known. */
  charge(ms: number, nowMs = this.#turns.nowMs()): void {
    this.#turns.charge(this, ms, nowMs);
  }

  /** Charges work that another thread did for the tenant, when it has ended. */
  chargeElsewhere(work: WorkElsewhere): void {
    this.#turns.chargeElsewhere(this, work);
  }
}

export interface WorkElsewhere {
  /** The time of the other thread. */
  readonly usedMs: number;
  /** What the tenant owes for it here: of n threads that share the work, one millisecond is an nth of their time. */
  readonly owedMs: number;
}

export interface NextOptions {
  /** True if it is expected to be heavy. */
  readonly isHeavy?: boolean;
  /** True if it was the first waiting unit, and nothing has changed since. */
  readonly isFirst?: boolean;
}

const AS_IT_COMES: NextOptions = {};

export interface TurnsOptions {
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  readonly loop?: EventLoop;
  /** Notified of units and commands, which show that the thread makes progress. */
  readonly observer?: TurnObserver;
}

export interface TurnObserver {
  /** The unit of a tenant begins, or one has ended. */
  unit(tenant: Tenant | undefined): void;
  /** A command that may take long begins within the unit. */
  command(name: string): void;
}

const nobody: TurnObserver = { unit() {}, command() {} };

export class Turns {
  readonly #clock: TurnsOptions["clock"];
  readonly #loop: EventLoop;
  readonly observer: TurnObserver;
  readonly #tenants = new Map<string, Tenant>();
  /** Kinds that were heavy for some tenant recently, with the time when that is forgotten. */
  readonly heavyKinds = new Map<UnitKind, number>();
  /** True if that map has entries: each command checks it. */
  hasHeavyKinds = false;
  /** Tenants that go first: (3). */
  readonly #front: Tenant[] = [];
  /** The other tenants with something waiting; the one at the cursor is served. */
  readonly #ring: Tenant[] = [];
  #cursor = 0;
  /** Tenants whose heavy unit may not start yet: (5). */
  readonly #parked: Tenant[] = [];
  #cancelWake: (() => void) | undefined;
  #isArmed = false;
  #turnNumber = 0;
  /** Time of units in this turn. */
  #turnUsedMs = 0;
  /** The tenant of the running unit, if that has waited. */
  #running: Tenant | undefined;
  #startedMs = 0;
  /** True if the running unit was expected to be heavy, or has found that its rest is. */
  #turnsHeavy = false;
  /** Of the last heavy unit; 0: none yet. */
  #heavyMs = 0;
  #pauseEndMs = 0;
  /** Heavy units may start in later turns than this one, after the event loop has polled. */
  #heavyTurn = 0;
  /** The tenant of the last requests, and how many in a row. */
  #lone: Tenant | undefined;
  #loneCount = 0;
  /** The tenant of the last light request, its time, and the time of the last one of another tenant. */
  #light: Tenant | undefined;
  #lightMs = Number.NEGATIVE_INFINITY;
  #otherLightMs = Number.NEGATIVE_INFINITY;

  constructor({ clock, loop = systemLoop, observer = nobody }: TurnsOptions) {
    this.#clock = clock;
    this.#loop = loop;
    this.observer = observer;
  }

  /** The tenant of this name, always the same object until it is dropped, so callers may store it. */
  tenant(area: string, name: string): Tenant {
    const key = `${area}\u0000${name}`;
    let tenant = this.#tenants.get(key);
    if (tenant === undefined) {
      tenant = new Tenant(this, { area, name });
      this.#tenants.set(key, tenant);
    }
    return tenant;
  }

  /** Drops a tenant. Its waiting units still run. */
  drop({ area, name }: Tenant): void {
    this.#tenants.delete(`${area}\u0000${name}`);
  }

  /** All tenants of an area. */
  tenantsOf(area: string): readonly Tenant[] {
    return [...this.#tenants.values()].filter((tenant) => tenant.area === area);
  }

  /** By the clock of the thread; the clock of an engine may travel. */
  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /** keeps (1) */
  mayRun(tenant: Tenant): boolean {
    if (this.#turnUsedMs >= TURN_MS || this.#ring.length > 0 || this.#front.length > 0) return false;
    if (tenant.place !== "idle") return false;
    if (tenant.creditMs <= 0 && !this.#isAlone(tenant) && !this.#hasCredit(tenant)) return false;
    tenant.kind = NO_KIND;
    this.observer.unit(tenant);
    return true;
  }

  queue(tenant: Tenant, run: () => void, { isHeavy = false, isFirst = false }: NextOptions): void {
    const nowMs = this.#clock.monotonicMs();
    const waiting = { run, isHeavy, sinceMs: nowMs };
    if (isFirst) tenant.waiting.unshift(waiting);
    else tenant.waiting.push(waiting);
    if (isHeavy) this.#turnsHeavy = true;
    if (tenant.place === "idle") this.#place(tenant, nowMs);
    if (this.#running === undefined && tenant.place !== "parked") this.#arm();
  }

  charge(tenant: Tenant, ms: number, nowMs: number): void {
    // A running unit that has waited is charged as a whole at its end.
    if (this.#running !== undefined) return;
    if (ms >= HEAVY_MS) this.#heavyTurn = this.#turnNumber + 1 + POLLS;
    this.#account(tenant, ms, nowMs);
    if (this.#turnUsedMs >= ARM_MS) this.#arm();
  }

  /** This thread was free meanwhile, so it counts neither in this turn nor for the expected duration of units. */
  chargeElsewhere(tenant: Tenant, { usedMs, owedMs }: WorkElsewhere): void {
    tenant.usedMs += usedMs;
    this.#owe(tenant, owedMs, this.#clock.monotonicMs());
  }

  #account(tenant: Tenant, ms: number, nowMs: number): void {
    this.observer.unit(undefined);
    this.#turnUsedMs += ms;
    tenant.usedMs += ms;
    tenant.costMs = Math.max(ms, tenant.costMs * COST_FADING);
    const { kind } = tenant;
    if (kind !== NO_KIND) this.#countLone(tenant);
    this.#owe(tenant, ms, nowMs);
    // Later work without its own kind (a late answer, upkeep) does not affect expectations of this one. keeps (6)
    tenant.kind = NO_KIND;
    if (kind !== NO_KIND && kind !== tenant.knownLast) {
      tenant.knownLast = kind;
      tenant.known.add(kind);
    }
    if (tenant.heavyMs !== undefined || ms >= HEAVY_MS) learn(tenant, kind, ms);
    const isLight = !this.#turnsHeavy && kind !== NO_KIND;
    this.#turnsHeavy = false;
    if (ms < HEAVY_MS) {
      if (isLight && this.#heavyMs > 0) this.#noteLight(tenant, nowMs);
      return;
    }
    tenant.heavyCount += 1;
    if (kind !== NO_KIND) {
      this.heavyKinds.set(kind, nowMs + HEAVY_KIND_MS);
      this.hasHeavyKinds = true;
    }
    this.#heavyMs = ms;
    this.#pauseEndMs = Math.min(Math.max(this.#pauseEndMs, nowMs) + LIGHT_SHARE * ms, nowMs + PAUSE_MS_MAX);
  }

  /** keeps (4) */
  #owe(tenant: Tenant, ms: number, nowMs: number): void {
    if (tenant.creditMs > 0) tenant.creditAtMs = nowMs;
    tenant.creditMs = Math.max(tenant.creditMs - ms, this.#isAlone(tenant) ? -QUANTUM_MS : -DEBT_MS_MAX);
  }

  #countLone(tenant: Tenant): void {
    if (tenant === this.#lone) this.#loneCount += 1;
    else {
      this.#lone = tenant;
      this.#loneCount = 0;
    }
  }

  /** keeps (4) */
  #isAlone(tenant: Tenant): boolean {
    return this.#loneCount >= ALONE_UNITS && tenant === this.#lone;
  }

  /** Fades the debt of a tenant that has nothing waiting; true if none is left. */
  #hasCredit(tenant: Tenant): boolean {
    const nowMs = this.#clock.monotonicMs();
    const othersCount = this.#front.length + this.#ring.length;
    const fadedMs = Math.max(0, nowMs - tenant.creditAtMs) / (othersCount + 1);
    tenant.creditAtMs = nowMs;
    tenant.creditMs = Math.min(QUANTUM_MS, tenant.creditMs + fadedMs);
    return tenant.creditMs > 0;
  }

  /** Puts a tenant with something waiting into its list. */
  #place(tenant: Tenant, nowMs: number): void {
    const isHeavy = tenant.waiting[0]?.isHeavy === true;
    if (isHeavy && !this.#mayBeHeavy(tenant, nowMs)) {
      this.#parked.push(tenant);
      tenant.place = "parked";
      this.#wakeLater(nowMs);
    } else if (!isHeavy && tenant.place === "idle" && (tenant.creditMs > 0 || this.#hasCredit(tenant))) {
      this.#placeInFront(tenant);
    } else {
      this.#ring.push(tenant);
      tenant.place = "ring";
    }
  }

  /** keeps (3) */
  #placeInFront(tenant: Tenant): void {
    const front = this.#front;
    let index = front.length;
    // Before other new tenants, whose first units may all be large.
    while (index > 0 && (front[index - 1] as Tenant).costMs >= tenant.costMs) index -= 1;
    front.splice(index, 0, tenant);
    tenant.place = "front";
  }

  /** Removes it from its list. */
  #displace(tenant: Tenant): void {
    if (tenant.place === "front") this.#front.splice(this.#front.indexOf(tenant), 1);
    else if (tenant.place === "ring") {
      const index = this.#ring.indexOf(tenant);
      this.#ring.splice(index, 1);
      if (index < this.#cursor) this.#cursor -= 1;
    } else if (tenant.place === "parked") this.#parked.splice(this.#parked.indexOf(tenant), 1);
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#loop.nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isArmed = false;
    this.#turnNumber += 1;
    this.#turnUsedMs = 0;
    this.observer.unit(undefined);
    if (this.#running !== undefined || this.#front.length + this.#ring.length + this.#parked.length === 0) return;
    const nowMs = this.#clock.monotonicMs();
    for (const [kind, endMs] of this.heavyKinds) if (nowMs >= endMs) this.heavyKinds.delete(kind);
    this.hasHeavyKinds = this.heavyKinds.size > 0;
    for (const tenant of [...this.#parked]) {
      if (!this.#mayBeHeavy(tenant, nowMs)) continue;
      this.#displace(tenant);
      this.#place(tenant, nowMs);
    }
    this.#runNext(nowMs);
  };

  #runNext(nowMs: number): void {
    const tenant = this.#pick(nowMs);
    const next = tenant?.waiting.shift();
    if (tenant === undefined || next === undefined) {
      this.#wakeLater(nowMs);
      return;
    }
    tenant.waitedCount += 1;
    tenant.waitedMsMax = Math.max(tenant.waitedMsMax, nowMs - next.sinceMs);
    tenant.kind = NO_KIND;
    tenant.isHeavyTurn = next.isHeavy;
    this.#turnsHeavy = next.isHeavy;
    // It starts within a pause only if no other tenant has requests: then no pause is needed afterwards.
    if (next.isHeavy) this.#pauseEndMs = Math.min(this.#pauseEndMs, nowMs);
    this.#running = tenant;
    this.#startedMs = nowMs;
    this.observer.unit(tenant);
    try {
      next.run();
    } finally {
      this.#loop.afterPromises(this.#ended);
    }
  }

  readonly #ended = (): void => {
    const tenant = this.#running;
    if (tenant === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    const ms = nowMs - this.#startedMs;
    this.#running = undefined;
    tenant.isHeavyTurn = false;
    if (ms >= HEAVY_MS) this.#heavyTurn = this.#turnNumber + POLLS;
    this.#account(tenant, ms, nowMs);
    this.#replace(tenant, nowMs);
    // keeps (2)
    if (this.#turnUsedMs < TURN_MS) {
      this.#runNext(nowMs);
      return;
    }
    this.#turnUsedMs = 0;
    if (this.#front.length > 0 || this.#ring.length > 0) this.#arm();
    else this.#wakeLater(nowMs);
  };

  /** Puts a tenant that was served into its next list. */
  #replace(tenant: Tenant, nowMs: number): void {
    const [next] = tenant.waiting;
    if (next === undefined) {
      this.#displace(tenant);
      tenant.place = "idle";
      tenant.creditAtMs = nowMs;
    } else if (tenant.place === "front" && (tenant.creditMs <= 0 || next.isHeavy)) {
      this.#displace(tenant);
      this.#place(tenant, nowMs);
    }
  }

  /** keeps (2), (3) and (5) */
  #pick(nowMs: number): Tenant | undefined {
    const [first] = this.#front;
    if (first !== undefined) return first;
    const ring = this.#ring;
    for (const tenant of [...ring]) {
      if (tenant.waiting[0]?.isHeavy !== true || this.#mayBeHeavy(tenant, nowMs)) continue;
      this.#displace(tenant);
      this.#place(tenant, nowMs);
    }
    if (ring.length === 0) return undefined;
    const found = this.#findWithCredit();
    if (found !== undefined) return found;
    // Rounds that would serve no tenant are skipped at once.
    const leastDebtMs = -Math.max(...ring.map((tenant) => tenant.creditMs));
    const grantMs = (Math.floor(leastDebtMs / QUANTUM_MS) + 1) * QUANTUM_MS;
    for (const tenant of ring) tenant.creditMs += grantMs;
    return this.#findWithCredit();
  }

  /** The first tenant of the ring from the cursor on. */
  #findWithCredit(): Tenant | undefined {
    const ring = this.#ring;
    for (let count = 0; count < ring.length; count += 1) {
      if (this.#cursor >= ring.length) this.#cursor = 0;
      const tenant = ring[this.#cursor] as Tenant;
      if (tenant.creditMs > 0) return tenant;
      this.#cursor += 1;
    }
    return undefined;
  }

  /** keeps (5) */
  #mayBeHeavy(tenant: Tenant, nowMs: number): boolean {
    if (this.#turnNumber <= this.#heavyTurn) return false;
    return nowMs >= this.#heavyFromMs(tenant);
  }

  #heavyFromMs(tenant: Tenant): number {
    const lightMs = tenant === this.#light ? this.#otherLightMs : this.#lightMs;
    return Math.min(this.#pauseEndMs, lightMs + Math.min(this.#heavyMs, QUIET_MS_MAX));
  }

  #noteLight(tenant: Tenant, nowMs: number): void {
    if (tenant !== this.#light) {
      this.#otherLightMs = this.#lightMs;
      this.#light = tenant;
    }
    this.#lightMs = nowMs;
  }

  /** Requests a turn for the time when the next heavy unit may start. */
  #wakeLater(nowMs: number): void {
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    if (this.#parked.length === 0) return;
    const waitMs = Math.min(...this.#parked.map((tenant) => this.#heavyFromMs(tenant))) - nowMs;
    if (waitMs > 0) this.#cancelWake = this.#clock.after(waitMs, () => this.#arm());
    else this.#arm();
  }
}

/** A decaying maximum: the longest recent unit of a kind. */
function learn(tenant: Tenant, kind: UnitKind, ms: number): void {
  if (kind === NO_KIND) return;
  const expectedMs = Math.max(ms, (tenant.heavyMs?.get(kind) ?? 0) / 2);
  if (expectedMs >= HEAVY_MS) {
    tenant.heavyMs ??= new Map();
    tenant.heavyMs.set(kind, expectedMs);
    return;
  }
  tenant.heavyMs?.delete(kind);
  if (tenant.heavyMs?.size === 0) tenant.heavyMs = undefined;
}
