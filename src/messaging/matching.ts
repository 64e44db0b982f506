/** Matches messages and dead letters against a filter. */

import type { AttributeName, Filter } from "./api.ts";
import type { EnvelopeFields } from "./options/envelope.ts";
import { type DeadLetter, deadLetterIdText } from "./state/dead-letters.ts";
import type { Message } from "./state/message.ts";
import { messageId } from "./state/message-id.ts";
import type { Run } from "./state/run.ts";
import type { User } from "./state/user.ts";

type Values = (fields: EnvelopeFields) => readonly (string | undefined)[];

/** The values of a message for each attribute. */
const valuesOf: Readonly<Record<Exclude<AttributeName, "messageId">, Values>> = {
  url: ({ url }) => [url],
  host: ({ url }) => [new URL(url).host],
  path: ({ url }) => [new URL(url).pathname],
  topicName: ({ topicName }) => [topicName],
  scheduleId: ({ scheduleId }) => [scheduleId],
  queueName: ({ queueName }) => [queueName],
  label: ({ labels }) => labels ?? [],
  flowControlKey: ({ flowControl }) => [flowControl?.key],
  callerIp: ({ callerIp }) => [callerIp],
  workflowRunId: ({ workflow }) => [workflow?.runId],
  source: ({ workflow }) => [workflow === undefined ? undefined : "workflow"],
};

/** Attributes with their values, as they go into the history: host and path too. */
export function attributesOf(fields: EnvelopeFields): readonly (readonly [name: string, value: string])[] {
  const all: [string, string][] = [];
  for (const [name, values] of Object.entries(valuesOf)) {
    for (const value of values(fields)) if (value !== undefined) all.push([name, value]);
  }
  return all;
}

/** Matches messages. `fromMs` and `toMs` limit the creation time. */
export function messageMatcher(filter: Filter): (message: Message) => boolean {
  const byFields = fieldsMatcher(filter);
  const ids = filter.ids === undefined ? undefined : new Set(filter.ids);
  return (message) =>
    (ids === undefined || ids.has(message.id)) &&
    isWithin(filter, message.createdAtMs) &&
    byFields(message.envelope.fields, message);
}

/** Matches dead letters. `fromMs` and `toMs` limit the failure time. */
export function deadLetterMatcher(filter: Filter, user: User): (deadLetter: DeadLetter) => boolean {
  const byRun = runMatcher(filter, user);
  const byFields = fieldsMatcher(filter);
  const ids = filter.ids === undefined ? undefined : new Set(filter.ids);
  const statuses = filter.statuses === undefined ? undefined : new Set(filter.statuses);
  return (deadLetter) =>
    (ids === undefined || ids.has(deadLetterIdText(deadLetter.id))) &&
    isWithin(filter, deadLetter.id.ms) &&
    (statuses === undefined || statuses.has(deadLetter.response.status)) &&
    byRun(deadLetter) &&
    byFields(deadLetter.envelope.fields, deadLetter);
}

/** The run whose failure left the dead letter. */
export function runOfDeadLetter(user: User, { envelope }: DeadLetter): Run | undefined {
  const { workflow } = envelope.fields;
  return workflow === undefined ? undefined : user.runs.get(workflow.runId);
}

function runMatcher({ runs }: Filter, user: User): (deadLetter: DeadLetter) => boolean {
  if (runs === undefined) return () => true;
  const { ids, urls, createdAtMs, failureFunctionStates } = runs;
  return (deadLetter) => {
    const run = runOfDeadLetter(user, deadLetter);
    return (
      run !== undefined &&
      (ids?.includes(run.id) ?? true) &&
      (urls?.includes(run.record.url) ?? true) &&
      (createdAtMs?.includes(run.record.createdAtMs) ?? true) &&
      (failureFunctionStates?.includes(run.failureFunction?.state ?? "") ?? true)
    );
  };
}

interface Numbered {
  readonly sequence: number;
  readonly nonce: number;
}

function fieldsMatcher({ attributes }: Filter): (fields: EnvelopeFields, message: Numbered) => boolean {
  const wanted = [...attributes].map(([name, values]) => ({ name, values: new Set(values) }));
  return (fields, { sequence, nonce }) =>
    wanted.every(({ name, values }) => {
      const given = name === "messageId" ? [messageId(sequence, nonce)] : valuesOf[name](fields);
      return given.some((value) => value !== undefined && values.has(value));
    });
}

function isWithin({ fromMs, toMs }: Filter, ms: number): boolean {
  return (fromMs === undefined || ms >= fromMs) && (toMs === undefined || ms <= toMs);
}
