/**
 * The setup of messaging, one row for each kind, in the order of creation: a
 * schedule may name a group, which must exist.
 *
 * A row reads records of listings, shows them in a canonical form, and has the
 * requests that create one.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { AreaRequest } from "../area-client.ts";
import type { NamedValues, RecordFields } from "./fields.ts";
import {
  hiddenPart,
  isUnfinished,
  readSchedule,
  type ScheduleSetup,
  scheduleRequests,
  showSchedule,
} from "./schedule.ts";

/** One item of the setup. */
export interface Setup {
  readonly name: string;
  /** Its record in a listing. */
  readonly shown: Shown;
  /** Equal for items with the same effect. */
  readonly essence: string;
  /** The part of it that is hidden, so that it cannot be recreated. */
  readonly hidden: string | undefined;
  /** The requests that create it, or that change the existing item into it. */
  readonly requests: (existing: Shown | undefined, clock: Clock) => readonly AreaRequest[];
  /** Left by an interrupted import: counts as missing. */
  readonly isUnfinished: boolean;
}

/** The fields that change an existing item. */
export interface Shown {
  readonly isPaused?: boolean;
  readonly endpoints?: readonly Endpoint[];
  readonly headers?: object | undefined;
  readonly [field: string]: unknown;
}

interface Endpoint {
  readonly url: string;
  readonly name?: string;
}

export interface SetupKind {
  /** The plural noun for people. */
  readonly words: string;
  /** The name of the list in a file. */
  readonly field: string;
  /** The path of the listing. */
  readonly path: string;
  /** Undefined: nothing to transfer. Throws a `StartRefusal` that names the field. */
  readonly read: (fields: RecordFields) => Setup | undefined;
}

export const setupKinds: readonly SetupKind[] = [
  { words: "queues", field: "queues", path: "/v2/queues", read: readQueue },
  { words: "flow-control keys", field: "flowControl", path: "/v2/flowControl", read: readFlowKey },
  { words: "URL groups", field: "topics", path: "/v2/topics", read: readGroup },
  {
    words: "schedules",
    field: "schedules",
    path: "/v2/schedules",
    read: (fields) => setupOfSchedule(readSchedule(fields)),
  },
];

function readQueue(fields: RecordFields): Setup {
  const name = fields.text("name");
  const parallelism = fields.count("parallelism") || 1;
  const paused = fields.flag("paused");
  const shown = { name, parallelism, paused };
  return {
    ...whole,
    ...{ name, shown, essence: JSON.stringify(shown) },
    requests: () => [
      { method: "POST", path: "/v2/queues", body: JSON.stringify({ queueName: name, parallelism, paused }) },
    ],
  };
}

/** A key that is neither pinned nor paused is defined by its messages. */
function readFlowKey(fields: RecordFields): Setup | undefined {
  const key = fields.text("flowControlKey");
  const isPaused = fields.flag("isPaused");
  const isPinnedParallelism = fields.flag("isPinnedParallelism");
  const isPinnedRate = fields.flag("isPinnedRate");
  if (!isPaused && !isPinnedParallelism && !isPinnedRate) return undefined;
  const parallelism = isPinnedParallelism ? fields.count("parallelismMax") : undefined;
  const rate = isPinnedRate ? fields.count("rateMax") : undefined;
  const period = isPinnedRate ? fields.count("ratePeriod") || 1 : undefined;
  const pins = Object.entries({ parallelism, rate, period }).filter(([, value]) => value !== undefined);
  const unpins = Object.entries({ parallelism: !isPinnedParallelism, rate: !isPinnedRate }).filter(([, is]) => is);
  const path = `/v2/flowControl/${encodeURIComponent(key)}`;
  const call = (what: string, query: readonly [string, unknown][]): readonly AreaRequest[] =>
    query.length === 0
      ? []
      : [{ method: "POST", path: `${path}/${what}?${query.map(([name, value]) => `${name}=${value}`).join("&")}` }];
  const shown = {
    ...{ flowControlKey: key, isPaused, isPinnedParallelism, isPinnedRate },
    ...{ parallelismMax: parallelism, rateMax: rate, ratePeriod: period },
  };
  return {
    ...whole,
    ...{ name: key, shown, essence: JSON.stringify(shown) },
    // Paused first, so that nothing is delivered before the limits are set.
    requests: (existing) => [
      ...(isPaused ? [{ method: "POST", path: `${path}/pause` } as const] : []),
      ...(existing === undefined ? [] : call("unpin", unpins)),
      ...call("pin", pins),
      ...(isPaused || existing === undefined ? [] : [{ method: "POST", path: `${path}/resume` } as const]),
    ],
  };
}

interface GroupSetup {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  readonly headers: NamedValues;
}

function readGroup(fields: RecordFields): Setup {
  const group: GroupSetup = {
    name: fields.text("name"),
    endpoints: fields.objects("endpoints").map(readEndpoint),
    headers: fields.namedValues("headers"),
  };
  const { name, endpoints, headers } = group;
  return {
    ...whole,
    name,
    shown: { name, endpoints, headers: headersObject(headers) },
    // The order of endpoints is that of their messages, and adding to a group cannot change it.
    essence: JSON.stringify([name, endpoints.toSorted(byUrl), headers]),
    requests: (existing) => groupRequests(group, existing),
  };
}

function readEndpoint(fields: RecordFields): Endpoint {
  const name = fields.optionalText("name");
  return { url: fields.text("url"), ...(name !== undefined && { name }) };
}

/** A single value is a string, the usual form. */
function headersObject(headers: NamedValues): object | undefined {
  if (headers.length === 0) return undefined;
  return Object.fromEntries(headers.map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

function byUrl(one: Endpoint, other: Endpoint): number {
  return one.url < other.url ? -1 : 1;
}

/** New endpoints are added before old ones are removed: a group disappears with its last endpoint. */
function groupRequests({ name, endpoints, headers }: GroupSetup, existing: Shown | undefined): readonly AreaRequest[] {
  const path = `/v2/topics/${encodeURIComponent(name)}`;
  const urls = new Set(endpoints.map(({ url }) => url));
  const old = (existing?.endpoints ?? []).filter(({ url }) => !urls.has(url)).map(({ url }) => ({ url }));
  const had = existing?.headers !== undefined;
  const body = (fields: object): string => JSON.stringify(fields);
  return [
    { method: "POST", path: `${path}/endpoints`, body: body({ endpoints }) },
    ...(old.length > 0
      ? [{ method: "DELETE", path: `${path}/endpoints`, body: body({ endpoints: old }) } as const]
      : []),
    ...(had || headers.length > 0
      ? [{ method: "PATCH", path, body: body({ headers: headersObject(headers) ?? {} }) } as const]
      : []),
  ];
}

function setupOfSchedule(schedule: ScheduleSetup): Setup {
  const shown = showSchedule(schedule);
  return {
    ...{ name: schedule.id, shown, essence: JSON.stringify(shown) },
    hidden: hiddenPart(schedule),
    isUnfinished: isUnfinished(schedule),
    requests: (existing, clock) =>
      scheduleRequests(schedule, existing && { isPaused: existing.isPaused === true }, clock),
  };
}

const whole = { hidden: undefined, isUnfinished: false };
