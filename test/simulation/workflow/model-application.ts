/**
 * A small application that runs workflows by the rules of the official client
 * (W.step): it knows only what a delivery carries, and reports its work through
 * the user's API. It records what it sees and checks it.
 *
 * (1) A delivery carries a prefix of the entries of its run, and ends with its
 *     own message.
 * (2) An ended run delivers nothing more except the call that reports its
 *     failure.
 * (3) Settings given at the start of a run for all its messages are in each.
 * (4) Each step has one result that counts, and no step has both an event and a
 *     time-out.
 */
import { assert } from "../../../src/kernel/assert.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { MessagingApi } from "../../../src/messaging/api.ts";
import { MessagingFailure } from "../../../src/messaging/failure.ts";
import { defaultLimits } from "../../../src/messaging/limits.ts";
import { readPublishOptions } from "../../../src/messaging/options/headers.ts";
import { answered, type Call } from "../../harness/messaging-harness.ts";
import type { Program, Step } from "./programs.ts";

export const THIRD = "http://third.test/";
const HEADER = "x-colour";

interface StepFields {
  readonly stepId: number;
  readonly targetStep?: number;
  readonly out?: string;
  readonly waitTimeout?: boolean;
}

export interface KnownRun {
  readonly id: string;
  readonly program: number;
  /** Ids of messages as deliveries showed them. */
  seen: string[];
  /** Outcome of each wait, by step. */
  readonly waits: Map<number, string>;
  /** How often it began to wait: a repeated delivery waits once more. */
  readonly waitCounts: Map<number, number>;
  isEnded: boolean;
  /** As reported by the application when it finished. */
  hasFinished: boolean;
  failureCalls: number;
}

const SDK = ["upstash-workflow-sdk-version", "1"];
const DONE = answered(200, SDK);

export class ModelApplication {
  readonly runs = new Map<string, KnownRun>();
  /** Of 100 deliveries, how many are answered by a fault after the work, and how many before it. */
  faultPercent = 0;
  readonly #random: Random;
  readonly #programs: readonly Program[];
  readonly #api: () => MessagingApi;
  readonly #nowMs: () => number;
  #childCount = 0;
  violation: Error | undefined;

  constructor(options: {
    readonly random: Random;
    readonly programs: readonly Program[];
    readonly api: () => MessagingApi;
    readonly nowMs: () => number;
  }) {
    this.#random = options.random;
    this.#programs = options.programs;
    this.#api = options.api;
    this.#nowMs = options.nowMs;
  }

  async trigger(program: number, id: string): Promise<void> {
    this.#know(id, program);
    const own = [...this.#first(id, program), "forward-x-colour", "blue"];
    await this.#publish(urlOf(program), own, { order: id });
  }

  /** Answers a call of larder. */
  readonly take = (call: Call): "later" => {
    void this.#take(call).then(
      (result) => call.answer(result),
      (fault: unknown) => {
        this.violation ??= fault instanceof Error ? fault : new Error(String(fault));
        call.answer(DONE);
      },
    );
    return "later";
  };

  async #take(call: Call): Promise<ReturnType<typeof answered>> {
    if (call.url === THIRD) return answered(this.#random.below(10) === 0 ? 500 : 200, [], "called");
    if (this.#random.below(100) < this.faultPercent) return answered(500, SDK);
    const result = await this.#work(call);
    return this.#random.below(100) < this.faultPercent ? answered(502) : result;
  }

  async #work(call: Call): Promise<ReturnType<typeof answered>> {
    const runId = call.headers.get("upstash-workflow-runid") ?? "";
    const run = this.runs.get(runId);
    assert(run !== undefined, `a delivery must be of a started run: ${runId}`);
    if (call.headers.get("upstash-workflow-failure-callback") !== undefined) {
      run.failureCalls += 1;
      return DONE;
    }
    assert(!run.isEnded, `the ended run ${runId} must not deliver`); // keeps (2)
    assert(call.headers.get(HEADER) === "blue", `deliveries of ${runId} must have the start headers`); // keeps (3)
    try {
      return await this.#act(run, call);
    } catch (fault) {
      // An append to an ended run is refused: the client stops silently.
      if (fault instanceof MessagingFailure && fault.kind === "bad request") return DONE;
      throw fault;
    }
  }

  async #act(run: KnownRun, call: Call): Promise<ReturnType<typeof answered>> {
    if (call.headers.get("upstash-workflow-callback") !== undefined) {
      const { status } = JSON.parse(call.body) as { status: number };
      await this.#result(run, Number(call.headers.get("upstash-workflow-stepid")), {
        concurrent: Number(call.headers.get("upstash-workflow-concurrent")),
        out: String(status),
      });
      return DONE;
    }
    const entries = JSON.parse(call.body) as { messageId: string; body: string; callType: string }[];
    const ids = entries.map(({ messageId }) => messageId);
    this.#checkPrefix(run, ids, call.headers.get("upstash-message-id") ?? ""); // keeps (1)
    const steps = entries
      .slice(1)
      .filter(({ callType }) => callType === "step")
      .map(({ body }) => JSON.parse(Buffer.from(body, "base64").toString("utf8")) as StepFields);
    this.#checkWaits(run, steps); // keeps (4)
    const last = steps.at(-1);
    const isSame = (a: StepFields, b: StepFields): boolean => a.stepId === b.stepId && a.targetStep === b.targetStep;
    if (last !== undefined && steps.slice(0, -1).some((step) => isSame(step, last))) return DONE;
    const distinct = steps.filter((step, index) => steps.findIndex((other) => isSame(other, step)) === index);
    return this.#walk(run, distinct);
  }

  async #walk(run: KnownRun, steps: readonly StepFields[]): Promise<ReturnType<typeof answered>> {
    const program = this.#programs[run.program] ?? [];
    const last = steps.at(-1);
    let id = 1;
    const results: string[] = [];
    for (const stage of program) {
      const stepIds = stage.map((_, index) => id + index);
      const done = stepIds.map((stepId) => steps.find((step) => step.stepId === stepId));
      if (stage.length === 1) {
        if (done[0] === undefined) return this.#execute(run, stage[0] ?? { kind: "run" }, { id, concurrent: 1 });
      } else {
        const plans = steps.filter(({ targetStep }) => targetStep !== undefined && stepIds.includes(targetStep));
        if (plans.length === 0) return this.#plan(run, stage, id);
        if (last?.targetStep !== undefined && stepIds.includes(last.targetStep)) {
          const step = stage[last.targetStep - id] ?? { kind: "run" };
          return this.#execute(run, step, { id: last.targetStep, concurrent: stage.length });
        }
        if (done.includes(undefined)) return DONE;
        // Only the delivery that completes the fork continues: in a later stage more have come.
        if (last !== undefined && stepIds.includes(last.stepId) && plans.length < stage.length) return DONE;
      }
      results.push(...done.map((step) => step?.out ?? "timeout"));
      id += stage.length;
    }
    await this.#api().workflows.finish(run.id, Buffer.from(JSON.stringify(results)));
    run.hasFinished = true;
    run.isEnded = true;
    return DONE;
  }

  async #plan(run: KnownRun, stage: readonly Step[], first: number): Promise<ReturnType<typeof answered>> {
    const requests = stage.map((step, index) => {
      const delay = step.kind === "sleep" ? ["delay", `${step.seconds}s`] : [];
      const fields = {
        stepId: 0,
        stepName: "s",
        stepType: step.kind,
        concurrent: stage.length,
        targetStep: first + index,
      };
      return this.#request(urlOf(run.program), [...this.#part(run), ...delay], fields);
    });
    await this.#api().publish(requests);
    return DONE;
  }

  async #execute(
    run: KnownRun,
    step: Step,
    { id, concurrent }: { id: number; concurrent: number },
  ): Promise<ReturnType<typeof answered>> {
    const info = { stepId: id, stepName: "s", stepType: step.kind, concurrent };
    switch (step.kind) {
      case "run":
        await this.#result(run, id, { concurrent, out: `ran ${id}` });
        return DONE;
      case "bad":
        return answered(489, [...SDK, "upstash-nonretryable-error", "true"], '{"message":"bad"}');
      case "sleep":
        await this.#result(run, id, { concurrent, out: "slept" }, concurrent === 1 ? step.seconds : 0);
        return DONE;
      case "wait":
        run.waitCounts.set(id, (run.waitCounts.get(id) ?? 0) + 1);
        await this.#api().workflows.wait({
          eventId: step.event,
          runId: run.id,
          headers: this.#part(run),
          contentType: "application/json",
          body: Buffer.from(JSON.stringify({ url: urlOf(run.program), timeout: `${step.seconds}s`, step: info })),
          refusalOf: () => undefined,
        });
        return DONE;
      case "call": {
        const given = this.#part(run).map((text, index) => (index % 2 === 0 ? `callback-${text}` : text));
        const about = { callback: "true", stepid: String(id), concurrent: String(concurrent) };
        const forwards = Object.entries(about).flatMap(([name, value]) => [
          `callback-forward-upstash-workflow-${name}`,
          value,
        ]);
        const withoutVersion = given.filter(
          (_, index) => given[index - (index % 2)] !== "callback-forward-upstash-workflow-sdk-version",
        );
        const own = [...["workflow-runid", run.id, "workflow-init", "false", "workflow-calltype", "toCallback"]];
        await this.#publish(
          THIRD,
          [
            ...own,
            "retries",
            "1",
            "retry-delay",
            "1000",
            "callback",
            urlOf(run.program),
            ...withoutVersion,
            ...forwards,
          ],
          {},
        );
        return DONE;
      }
      case "invoke": {
        this.#childCount += 1;
        // A step that runs again invokes another child.
        const childId = `${run.id}.${id}.${this.#childCount}`;
        this.#know(childId, step.program);
        const own = [...this.#first(childId, step.program), "forward-x-colour", "blue", "workflow-invoke", "true"];
        const map = Object.fromEntries(
          this.#part(run).flatMap((name, index, all) =>
            index % 2 === 0 ? [[`Upstash-${name}`, [all[index + 1]]]] : [],
          ),
        );
        await this.#publish(urlOf(step.program), own, {
          body: "{}",
          headers: map,
          workflowRunId: run.id,
          workflowUrl: urlOf(run.program),
          workflowRunCreatedAt: 0,
          step: info,
        });
        return DONE;
      }
    }
  }

  async #result(
    run: KnownRun,
    stepId: number,
    facts: { readonly concurrent: number; readonly out: string },
    delaySeconds = 0,
  ): Promise<void> {
    const delay = delaySeconds > 0 ? ["delay", `${delaySeconds}s`] : [];
    await this.#publish(urlOf(run.program), [...this.#part(run), ...delay], {
      stepId,
      stepName: "s",
      stepType: "Run",
      ...facts,
    });
  }

  /** The headers of a step. */
  #part({ id }: KnownRun): readonly string[] {
    const features = ["feature-set", "LazyFetch,InitialBody,WF_DetectTrigger,WF_TriggerOnConfig"];
    const version = ["forward-upstash-workflow-sdk-version", "1"];
    return ["workflow-runid", id, "workflow-init", "false", ...features, ...version];
  }

  #first(id: string, program: number): readonly string[] {
    const rest = this.#part({ id } as KnownRun).slice(4);
    const failure = ["failure-callback", urlOf(program)];
    return ["workflow-runid", id, "workflow-init", "true", ...rest, "retries", "50", "retry-delay", "1000", ...failure];
  }

  async #publish(url: string, own: readonly string[], body: object): Promise<void> {
    await this.#api().publish([this.#request(url, own, body)]);
  }

  #request(url: string, own: readonly string[], body: object) {
    const context = { limits: defaultLimits, nowMs: this.#nowMs(), refusalOf: () => undefined };
    const options = readPublishOptions({ own, contentType: "application/json", others: () => [] }, context);
    return { destination: url, body: Buffer.from(JSON.stringify(body)), options, callerIp: "203.0.113.7" };
  }

  #know(id: string, program: number): void {
    const maps = { waits: new Map(), waitCounts: new Map() };
    this.runs.set(id, { id, program, seen: [], ...maps, isEnded: false, hasFinished: false, failureCalls: 0 });
  }

  #checkPrefix(run: KnownRun, ids: readonly string[], own: string): void {
    assert(ids.at(-1) === own, `a delivery of ${run.id} must end with its own entry`);
    const common = Math.min(ids.length, run.seen.length);
    for (let index = 0; index < common; index += 1) {
      assert(ids[index] === run.seen[index], `deliveries of ${run.id} must show one list`);
    }
    if (ids.length > run.seen.length) run.seen = [...ids];
  }

  #checkWaits(run: KnownRun, steps: readonly StepFields[]): void {
    for (const { stepId, waitTimeout, out } of steps) {
      const outcome = waitTimeout === true ? "timeout" : out;
      if (outcome === undefined || run.waitCounts.get(stepId) !== 1) continue;
      const known = run.waits.get(stepId);
      const isBoth = known !== undefined && (known === "timeout") !== (outcome === "timeout");
      assert(!isBoth, `the wait ${stepId} of ${run.id} must not have both an event and a time-out`);
      run.waits.set(stepId, outcome);
    }
  }
}

export function urlOf(program: number): string {
  return `http://app.test/${program}`;
}
