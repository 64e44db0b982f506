/**
 * Every method of the official client of messaging, by the family that tests
 * it, or by the unsupported part of the server. `methods.test.ts`
 * compares this table with the client itself, and each family's file with its
 * row, so a new version of the client cannot add an untested method.
 */
import { Client } from "@upstash/qstash";

const ofDeadLetters = ["listMessages", "delete", "deleteMany", "retry"] as const;
const ofFlowControl = [...["get", "getGlobalParallelism", "pause", "resume", "pin", "unpin", "resetRate"]] as const;

export const methodsOfFamilies = {
  Publish: ["publish", "publishJSON", "batch", "batchJSON"],
  Queues: [
    ...["queue", "queue.upsert", "queue.get", "queue.list", "queue.delete", "queue.enqueue", "queue.enqueueJSON"],
    ...["queue.pause", "queue.resume"],
  ],
  Messages: [
    ...["messages.get", "messages.cancel", "messages.delete", "messages.deleteMany", "messages.deleteAll"],
    ...["logs", "events"],
  ],
  "Dead letters": ofDeadLetters.map((name) => `dlq.${name}`),
  Schedules: [
    ...["schedules.create", "schedules.get", "schedules.list", "schedules.delete", "schedules.pause"],
    "schedules.resume",
  ],
  "URL groups": ["urlGroups", "topics"].flatMap((group) => [
    ...[`${group}.addEndpoints`, `${group}.removeEndpoints`, `${group}.list`, `${group}.get`, `${group}.delete`],
  ]),
  "Flow control": ofFlowControl.map((name) => `flowControl.${name}`),
  Refusals: ["workflow.cancel"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type FamilyName = keyof typeof methodsOfFamilies;

/** Methods of parts that the server does not have. */
export const methodsToCome: readonly (readonly [part: string, methods: readonly string[]])[] = [
  ["chat completions of the hosted service, which were discontinued", ["chat", "chat.create", "chat.prompt"]],
];

/** Fields of the client that are not methods. */
const NO_METHODS: ReadonlySet<string> = new Set(["constructor", "http", "token"]);
/** Methods of an instance that only its other methods call. */
const INTERNAL: ReadonlySet<string> = new Set(["chat.createThirdParty", "chat.getAuthorizationToken"]);
/** Methods that return an object with methods. */
const MAKERS: ReadonlySet<string> = new Set(["queue", "chat"]);

/** The names of all methods of the installed client; those of a part with its name as prefix. */
export function installedMethods(): readonly string[] {
  const client = new Client({ baseUrl: "http://unreachable.test", token: "none", devMode: false });
  const names: string[] = [];
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(Client.prototype))) {
    if (NO_METHODS.has(name)) continue;
    if (descriptor.get === undefined) names.push(name);
    const part: unknown =
      descriptor.get === undefined
        ? MAKERS.has(name)
          ? Reflect.apply(descriptor.value, client, [])
          : undefined
        : Reflect.get(client, name);
    names.push(...methodsOf(part).map((inner) => `${name}.${inner}`));
  }
  return names.filter((name) => !INTERNAL.has(name));
}

function methodsOf(part: unknown): readonly string[] {
  if (typeof part !== "object" || part === null) return [];
  const own = Object.getOwnPropertyNames(part).filter((name) => typeof Reflect.get(part, name) === "function");
  const inherited = Object.getOwnPropertyNames(Object.getPrototypeOf(part));
  return [...own, ...inherited].filter((name) => !NO_METHODS.has(name));
}
