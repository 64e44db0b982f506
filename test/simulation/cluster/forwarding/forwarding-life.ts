/**
 * Nodes that forward requests to each other, in virtual time: the real fronts and
 * the real service for forwarded requests, over a network of the simulation that
 * delays, refuses and cuts. The shard moves from node to node, nodes are killed and
 * start again, and each learns of the owner late. Clients ask any node.
 *
 * (1) A request is carried out at most once.
 * (2) One that was answered was carried out, and one that was refused was not. An
 *     answer 502 says nothing.
 * (3) Only the node that the client has asked forwards a request.
 * (4) What clients see is linearizable.
 * (5) Every request has an end.
 */
import { FORWARDED, findHeader, forwardedHeaders, PROBE } from "../../../../src/edge/forward/forwarded-head.ts";
import {
  Front,
  type FrontOptions,
  type OwnerAddress,
  type Sender,
  type SendOutcome,
} from "../../../../src/edge/forward/front.ts";
import { innerService } from "../../../../src/edge/forward/inner-service.ts";
import type { HttpReply, HttpRequest, HttpService, HttpStream } from "../../../../src/edge/handler.ts";
import { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
import { describeNotLinearizable, findNotLinearizable } from "../../linearizability/linearizability.ts";
import { applied, initialState, type State } from "../../linearizability/objects.ts";
import { type Input, OperationLog, type Output } from "../../linearizability/operations.ts";

const NAMES: readonly string[] = ["a", "b", "c"];
const STEPS = 120;
const STEP_MS_MAX = 120;
/** How long a request waits for an owner: one of these in each life. */
const WAITS_MS: readonly number[] = [0, 300, 3_000];
const DELAY_MS_MAX = 60;
/** How late a node learns of a new owner. */
const LATE_MS_MAX = 600;
/** After the last fault: the wait, a probe, and what is on its way. */
const END_MS = LATE_MS_MAX + 3_000 + 1_000;

const MISDIRECTED = 421;
const LOST = 502;

/** A rule that does not hold. */
export class ForwardingViolation extends Error {
  override name = "ForwardingViolation";
}

/** What nodes that forward could do wrong. */
export interface ForwardingBug {
  /** Wraps what a node sends with. */
  readonly sender?: (sender: Sender, clock: VirtualClock) => Sender;
  /** A node that does not serve the shard passes on what was forwarded to it. */
  readonly forwardsAgain?: true;
}

export interface ForwardingSummary {
  readonly answered: number;
  readonly refused: number;
  readonly lost: number;
  readonly forwarded: number;
  readonly moves: number;
}

/** One life. Rejects with the first violation. */
export async function liveForwarding(seed: number, bug: ForwardingBug = {}): Promise<ForwardingSummary> {
  return await new ForwardingLife(seed, bug).run();
}

interface Asked {
  readonly input: Input;
  readonly node: SimulatedNode;
  carriedOut: number;
  /** Undefined: it has no answer yet. */
  status: number | undefined;
}

class ForwardingLife {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly bug: ForwardingBug;
  readonly waitMs: number;
  readonly nodes: readonly SimulatedNode[];
  readonly #log = new OperationLog();
  /** By the id of the request. */
  readonly #asked = new Map<string, Asked>();
  readonly #states = new Map<string, State>();
  /** It has the shard, and may be recovering it or about to give it away. */
  #owner: SimulatedNode | undefined;
  #values = 0;
  readonly #seen = { answered: 0, refused: 0, lost: 0, forwarded: 0, moves: 0 };

  constructor(seed: number, bug: ForwardingBug) {
    this.random = seededRandom(seed);
    this.bug = bug;
    this.waitMs = WAITS_MS[this.random.below(WAITS_MS.length)] ?? 0;
    this.nodes = NAMES.map((name) => new SimulatedNode(name, this));
  }

  async run(): Promise<ForwardingSummary> {
    this.#take(this.#any());
    for (let step = 0; step < STEPS; step += 1) {
      this.#act();
      await this.clock.advanceAsync(this.random.below(STEP_MS_MAX));
      this.#check();
    }
    for (const node of this.nodes) node.mend();
    if (this.#owner === undefined) this.#take(this.#any());
    await this.clock.advanceAsync(END_MS);
    this.#check();
    for (const [id, { status, node }] of this.#asked)
      if (status === undefined && !node.hasDied(id)) throw new ForwardingViolation(`request ${id} has no end`); // keeps (5)
    const found = findNotLinearizable(this.#log.operations);
    if (found !== undefined) throw new ForwardingViolation(describeNotLinearizable(found)); // keeps (4)
    return this.#seen;
  }

  addressOf(node: SimulatedNode): OwnerAddress {
    return { node: node.name, host: node.name, port: node.life };
  }

  /** The node at an address, if its process still lives. */
  nodeAt({ node: name, port }: OwnerAddress): SimulatedNode | undefined {
    return this.nodes.find((each) => each.name === name && each.life === port && each.isAlive);
  }

  delayed(task: () => void, msMax = DELAY_MS_MAX): void {
    this.clock.after(this.random.below(msMax), task);
  }

  /** Of the owner: a request takes effect. keeps (1) */
  carryOut(id: string): Output {
    const asked = this.#asked.get(id);
    if (asked === undefined) throw new ForwardingViolation(`request ${id} was not asked`);
    asked.carriedOut += 1;
    if (asked.carriedOut > 1) throw new ForwardingViolation(`request ${id} was carried out ${asked.carriedOut} times`);
    const { input } = asked;
    const { state, output } = applied(this.#states.get(input.object) ?? initialState(input.object), input);
    this.#states.set(input.object, state);
    return output;
  }

  /** keeps (3) */
  sends(id: string, by: SimulatedNode): void {
    const asked = this.#asked.get(id);
    if (asked !== undefined && asked.node !== by)
      throw new ForwardingViolation(
        `node ${by.name} forwards request ${id}, which node ${asked.node.name} has forwarded`,
      );
    this.#seen.forwarded += 1;
  }

  #any(): SimulatedNode {
    return this.nodes[this.random.below(this.nodes.length)] as SimulatedNode;
  }

  #act(): void {
    const what = this.random.below(12);
    if (what < 7) this.#ask();
    else if (what < 9) this.#move();
    else if (what === 9) this.#any().disturb();
    else if (what === 10) this.#kill(this.#any());
    else this.#any().start();
  }

  #ask(): void {
    const node = this.#any();
    if (!node.isAlive) return;
    this.#values += 1;
    const id = `${this.#values}`;
    const input = this.#draw(id);
    const asked: Asked = { input, node, carriedOut: 0, status: undefined };
    this.#asked.set(id, asked);
    node.holds(id);
    const note = this.#log.call(input.object, input);
    const { life } = node;
    const answer = Promise.resolve(node.front.handle(requestOf(id))).then((reply) => {
      // A client of a node that has been killed gets no answer.
      if (node.life !== life || !node.isAlive) return;
      asked.status = reply.status;
      this.#judge(id, asked, reply);
      if (reply.status === 200 && "body" in reply) note((JSON.parse(String(reply.body)) as { output: Output }).output);
    });
    void answer.catch((fault: unknown) => this.broken(node, fault));
  }

  /** keeps (2) */
  #judge(id: string, { carriedOut }: Asked, { status }: HttpReply | HttpStream): void {
    if (status === 200 && carriedOut !== 1)
      throw new ForwardingViolation(`request ${id} was answered and carried out ${carriedOut} times`);
    if (status !== 200 && status !== LOST && carriedOut > 0)
      throw new ForwardingViolation(`request ${id} was refused with ${status} and carried out`);
    this.#seen[status === 200 ? "answered" : status === LOST ? "lost" : "refused"] += 1;
  }

  /** A request that was refused is not carried out later. keeps (2) */
  #check(): void {
    for (const [id, { status, carriedOut }] of this.#asked)
      if (status !== undefined && status !== 200 && status !== LOST && carriedOut > 0)
        throw new ForwardingViolation(`request ${id} was refused with ${status} and carried out`);
    for (const node of this.nodes) if (node.fault !== undefined) throw node.fault;
  }

  #draw(value: string): Input {
    const inputs: readonly Input[] = [
      { object: "register", name: "SET", value },
      { object: "register", name: "GET" },
      { object: "counter", name: "INCR" },
      { object: "counter", name: "GET" },
      { object: "list", name: "RPUSH", value },
      { object: "list", name: "LRANGE" },
    ];
    return inputs[this.random.below(inputs.length)] as Input;
  }

  #move(): void {
    const next = this.#any();
    if (!next.isAlive || next === this.#owner) return;
    this.#owner?.release();
    this.#owner = undefined;
    this.#take(next);
    this.#seen.moves += 1;
  }

  /** It serves after its recovery, and the others learn of it sooner or later. */
  #take(node: SimulatedNode): void {
    node.start();
    this.#owner = node;
    const { life } = node;
    this.delayed(() => {
      if (this.#owner === node && node.life === life && node.isAlive) node.serve();
    }, LATE_MS_MAX);
    const at = this.addressOf(node);
    for (const other of this.nodes)
      this.delayed(() => {
        if (this.#owner !== node || other.life === 0) return;
        other.front.follow(other === node ? { kind: "nobody" } : { kind: "node", at });
      }, LATE_MS_MAX);
  }

  #kill(node: SimulatedNode): void {
    if (!node.isAlive) return;
    node.kill();
    if (this.#owner !== node) return;
    this.#owner = undefined;
    this.clock.after(this.random.below(LATE_MS_MAX), () => {
      if (this.#owner === undefined) this.#take(this.#any());
    });
  }

  /** What a node that starts learns of the owner. */
  follows(node: SimulatedNode): void {
    const owner = this.#owner;
    if (owner !== undefined && owner !== node && owner.isAlive)
      node.front.follow({ kind: "node", at: this.addressOf(owner) });
  }

  /** A rule that was broken where nobody awaits it. */
  broken(node: SimulatedNode, fault: unknown): void {
    node.fault = fault;
  }
}

type NetworkState = "whole" | "refuses" | "cuts";

const limits: FrontOptions["service"] = { bodyBytesMax: () => 1_000 };

class SimulatedNode {
  readonly name: string;
  /** Counts its processes. */
  life = 1;
  isAlive = true;
  front: Front;
  fault: unknown;
  readonly #world: ForwardingLife;
  readonly #inner: HttpService;
  #isServing = false;
  /** Which faults the connections from this node have. */
  #network: NetworkState = "whole";
  /** By the id of each request: the process that was asked. */
  readonly #held = new Map<string, number>();

  constructor(name: string, world: ForwardingLife) {
    this.name = name;
    this.#world = world;
    this.front = this.#newFront();
    this.#inner = innerService({
      ...{ area: "store", service: limits },
      serving: () => {
        if (this.#isServing) return this.#engine;
        return world.bug.forwardsAgain === true ? this.front : undefined;
      },
    });
  }

  holds(id: string): void {
    this.#held.set(id, this.life);
  }

  /** Whether the process that was asked has been killed. */
  hasDied(id: string): boolean {
    return !this.isAlive || this.#held.get(id) !== this.life;
  }

  start(): void {
    if (this.isAlive) return;
    this.life += 1;
    this.isAlive = true;
    this.front = this.#newFront();
    this.#world.follows(this);
  }

  kill(): void {
    this.isAlive = false;
    this.#isServing = false;
  }

  serve(): void {
    this.#isServing = true;
    this.front.serve(this.#engine);
  }

  release(): void {
    this.#isServing = false;
    this.front.serve(undefined);
  }

  /** The network from this node to others changes. */
  disturb(): void {
    const kinds: readonly NetworkState[] = ["whole", "whole", "refuses", "cuts"];
    this.#network = kinds[this.#world.random.below(kinds.length)] ?? "whole";
  }

  mend(): void {
    this.#network = "whole";
    this.start();
  }

  /** The request of another node. */
  receive(request: HttpRequest): HttpReply | Promise<HttpReply | HttpStream> {
    return this.#inner.handle(request) as HttpReply | Promise<HttpReply | HttpStream>;
  }

  readonly #engine: HttpService = {
    ...limits,
    handle: ({ id }) => {
      try {
        return { status: 200, headers: [], body: JSON.stringify({ output: this.#world.carryOut(id) }) };
      } catch (fault) {
        this.#world.broken(this, fault);
        return new Promise(() => {});
      }
    },
  };

  #newFront(): Front {
    const { bug, clock, waitMs } = this.#world;
    const { life } = this;
    const sender: Sender = {
      send: (to, request) => this.#send(to, request, life),
      probe: async (to) => {
        const outcome = await this.#send(to, probeRequest, life);
        return outcome.kind === "answered" && outcome.reply.status === 204;
      },
      openTunnel: () => Promise.resolve(undefined),
      follow() {},
      close: () => Promise.resolve(),
    };
    return new Front({
      ...{ area: "store", service: limits, clock, waitMs },
      sender: bug.sender === undefined ? sender : bug.sender(sender, clock),
    });
  }

  /** Of a process; one that has been killed sends nothing, and gets no answer. */
  #send(to: OwnerAddress, request: HttpRequest, life: number): Promise<SendOutcome> {
    const world = this.#world;
    if (!this.isAlive || this.life !== life) return new Promise(() => {});
    if (request !== probeRequest)
      try {
        world.sends(request.id, this);
      } catch (fault) {
        world.broken(this, fault);
      }
    return new Promise((resolve) => {
      const end = (outcome: SendOutcome): void => {
        if (this.isAlive && this.life === life) resolve(outcome);
      };
      world.delayed(() => {
        const connected = world.nodeAt(to);
        if (connected === undefined || this.#network === "refuses") end({ kind: "not executed" });
        // From now on bytes are sent.
        else
          world.delayed(() => {
            const isCut = (): boolean => this.#network === "cuts" && world.random.below(3) === 0;
            const node = world.nodeAt(to);
            if (node === undefined || isCut()) {
              end({ kind: "lost" });
              return;
            }
            void Promise.resolve(node.receive(forwardedOf(request))).then((reply) =>
              world.delayed(() => {
                if (world.nodeAt(to) === undefined || isCut()) end({ kind: "lost" });
                else if (reply.status === MISDIRECTED) end({ kind: "not executed" });
                else end({ kind: "answered", reply });
              }),
            );
          });
      });
    });
  }
}

function requestOf(id: string): HttpRequest {
  return {
    ...{ method: "POST", target: "/", rawHeaders: [], body: Buffer.alloc(0), id, header: () => undefined },
    ...{ remoteAddress: "192.0.2.7", remotePort: 9 },
  };
}

const probeRequest = requestOf("probe");

/** The request as its owner reads it. */
function forwardedOf(request: HttpRequest): HttpRequest {
  const { remoteAddress: address, remotePort: port, rawHeaders } = request;
  const headers = forwardedHeaders(rawHeaders, request === probeRequest ? PROBE : { address, port });
  const header = (name: string): string | undefined => findHeader(headers, name);
  if (header(FORWARDED) === undefined) throw new ForwardingViolation("a request names no client");
  return { ...requestOf(request.id), rawHeaders: headers, header };
}
