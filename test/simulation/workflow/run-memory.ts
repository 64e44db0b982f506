/**
 * What is known of workflow runs across crashes, and the contents of entries.
 *
 * (1) Acknowledged or delivered entries exist until their run ends: calls use
 *     only what is on the disk.
 * (2) A run's entries never change their order: of any two lists seen of a run,
 *     one is a prefix of the other.
 * (3) The bytes of an entry follow from its run and its step.
 */
import type { Random } from "../../../src/kernel/random.ts";
import type { Run } from "../../../src/messaging/state/run.ts";
import { check } from "../messaging/violation.ts";

interface Known {
  /** Ids of its messages in order, as far as they were seen. */
  seen: readonly string[];
  readonly acknowledged: Set<string>;
  steps: number;
  isEnding: boolean;
}

export class RunMemory {
  readonly #runs = new Map<string, Known>();
  deliveries = 0;
  /** Entries whose bytes were compared. */
  compared = 0;
  moved = 0;
  removed = 0;

  /** Its id says how long its bodies are. */
  newRun(random: Random): string {
    const bytes = random.below(2) === 0 ? 10 + random.below(200) : 65_000 + random.below(5_000);
    const id = `wfr_${this.#runs.size}_${bytes}`;
    this.#runs.set(id, { seen: [], acknowledged: new Set(), steps: 0, isEnding: false });
    return id;
  }

  /** Numbers are never reused, even if a crash took back a step. */
  nextStep(id: string): number {
    const known = this.#known(id);
    known.steps += 1;
    return known.steps;
  }

  acknowledged(id: string, messageId: string): void {
    this.#known(id).acknowledged.add(messageId);
  }

  isEnding(id: string): void {
    this.#known(id).isEnding = true;
  }

  /** A list of entries was delivered, or found after a crash. */
  found(id: string, entries: readonly { readonly messageId: string; readonly body: string }[]): void {
    const known = this.#known(id);
    const ids = entries.map(({ messageId }) => messageId);
    const common = Math.min(ids.length, known.seen.length);
    const wrong = ids.slice(0, common).findIndex((messageId, index) => messageId !== known.seen[index]);
    check(wrong < 0, () => `entry ${wrong} of ${id} was ${known.seen[wrong]} and is ${ids[wrong]}`); // keeps (2)
    for (const [index, { messageId, body }] of entries.entries()) {
      const text = Buffer.from(body, "base64").toString();
      check(isEntryOf(id, index, text), () => `entry ${messageId} of ${id} is ${text.slice(0, 100)}`);
      this.compared += 1;
    }
    if (ids.length > known.seen.length) known.seen = ids;
  }

  /** After a recovery, when all lists have been found. Entries that were seen but are not on the disk may be lost. */
  checkPresent(find: (id: string) => Run | undefined): void {
    for (const [id, { acknowledged, isEnding, seen }] of this.#runs) {
      if (isEnding || acknowledged.size === 0) continue;
      const run = find(id);
      check(run?.isStarted === true, () => `the run ${id} is gone`);
      const missing = [...acknowledged].find((messageId) => !seen.slice(0, run?.entries.length).includes(messageId));
      check(missing === undefined, () => `the entry ${missing} of ${id} is gone`); // keeps (1)
    }
  }

  #known(id: string): Known {
    const known = this.#runs.get(id);
    if (known === undefined) throw new Error(`${id} was never started`);
    return known;
  }
}

export function startText(id: string): string {
  return filler(id, "start");
}

/** Of step 0: the return value of the function. */
export function resultText(id: string, step: number): string {
  return JSON.stringify({ stepId: step, out: filler(id, `step ${step}`) });
}

export function waitText(url: string, step: number): string {
  return JSON.stringify({ url, timeout: "1h", step: { stepId: step, stepType: "Wait" } });
}

export function eventText(): string {
  return "it came";
}

/** keeps (3) */
function isEntryOf(id: string, index: number, text: string): boolean {
  if (index === 0) return text === startText(id);
  const [, step = ""] = /^\{"stepId":(\d+),/.exec(text) ?? [];
  const wait = { stepId: Number(step), stepType: "Wait", waitEventId: "paid" };
  const outs = [{ out: Buffer.from(eventText()).toString("base64") }, { waitTimeout: true }];
  return text === resultText(id, Number(step)) || outs.some((out) => text === JSON.stringify({ ...wait, ...out }));
}

function filler(id: string, what: string): string {
  const bytes = Number(id.slice(id.lastIndexOf("_") + 1));
  return `${id} ${what} `.repeat(Math.ceil(bytes / (id.length + what.length + 2))).slice(0, bytes);
}
