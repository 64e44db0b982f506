/**
 * The workloads: one row each, each with its requests in the dialect
 * of the server. Headers are those that the official client sends through fetch,
 * the same for every subject.
 */
import { httpRequest } from "../harness/http-load.ts";
import { TOKEN } from "./subjects.ts";

/**
 * `store`: POST / and POST /pipeline with JSON, and the command in the path. `gateway`: the former only. `webdis`: the
 * latter only, a body being the last argument.
 */
export type Dialect = "store" | "gateway" | "webdis";

export interface Workload {
  readonly name: string;
  readonly commandsPerRequest: number;
  /** Requests that create the keys that this workload reads. */
  readonly prepares?: Workload;
  /** Undefined: the dialect has no such request. */
  requests(dialect: Dialect): readonly Buffer[] | undefined;
}

const KEY_COUNT = 10_000;
const PIPELINE_COMMANDS = 100;
const PIPELINE_COUNT = 200;
const LARGE_KEY_COUNT = 1_000;
/** Longer values are sent to webdis as a body. */
const PATH_VALUE_MAX = 1_000;

const headers: readonly (readonly [string, string])[] = [
  ["host", "127.0.0.1:8079"],
  ["connection", "keep-alive"],
  ["Content-Type", "application/json"],
  ["authorization", `Bearer ${TOKEN}`],
  ["Upstash-Encoding", "base64"],
  ["Upstash-Telemetry-Runtime", "node@v26.10.0"],
  ["Upstash-Telemetry-Platform", "unknown"],
  ["Upstash-Telemetry-Sdk", "@upstash/redis@v1.39.0"],
  ["upstash-sync-token", "1a2b3c4d5e6f7a8b:123456"],
  ["accept", "*/*"],
  ["accept-language", "*"],
  ["sec-fetch-mode", "cors"],
  ["user-agent", "node"],
  ["pragma", "no-cache"],
  ["cache-control", "no-cache"],
  ["accept-encoding", "gzip, deflate"],
];

const set = writing("SET, POST /", { prefix: "key", count: KEY_COUNT, value: (i) => `value:${i}` });
const set100 = writing("SET 100 bytes", { prefix: "hundred", count: KEY_COUNT, value: () => "v".repeat(100) });
const set10k = writing("SET 10 KB", { prefix: "large", count: LARGE_KEY_COUNT, value: () => "v".repeat(10_240) });

export const workloads: readonly Workload[] = [
  set,
  reading("GET, POST /", set, { prefix: "key", count: KEY_COUNT }),
  {
    name: "SET, path form",
    commandsPerRequest: 1,
    requests: (dialect) =>
      dialect === "gateway" ? undefined : each(KEY_COUNT, (i) => pathRequest(["SET", keyOf("key", i), `value:${i}`])),
  },
  {
    name: "GET, path form",
    commandsPerRequest: 1,
    prepares: set,
    requests: (dialect) =>
      dialect === "gateway" ? undefined : each(KEY_COUNT, (i) => pathRequest(["GET", keyOf("key", i)])),
  },
  {
    name: "80 % GET, 20 % SET",
    commandsPerRequest: 1,
    prepares: set,
    requests: (dialect) => {
      const reads = reading("", set, { prefix: "key", count: KEY_COUNT }).requests(dialect) ?? [];
      const writes = set.requests(dialect) ?? [];
      return each(KEY_COUNT, (i) => (i % 5 === 0 ? writes : reads)[i] as Buffer);
    },
  },
  {
    name: "/pipeline of 100 SETs",
    commandsPerRequest: PIPELINE_COMMANDS,
    requests: (dialect) =>
      dialect === "webdis"
        ? undefined
        : each(PIPELINE_COUNT, (i) =>
            jsonRequest(
              "/pipeline",
              each(PIPELINE_COMMANDS, (j) => [
                "SET",
                keyOf("key", (i * PIPELINE_COMMANDS + j) % KEY_COUNT),
                `value:${j}`,
              ]),
            ),
          ),
  },
  set100,
  reading("GET 100 bytes", set100, { prefix: "hundred", count: KEY_COUNT }),
  set10k,
  reading("GET 10 KB", set10k, { prefix: "large", count: LARGE_KEY_COUNT }),
];

interface Keys {
  readonly prefix: string;
  readonly count: number;
}

function writing(name: string, { prefix, count, value }: Keys & { value: (i: number) => string }): Workload {
  return {
    name,
    commandsPerRequest: 1,
    requests: (dialect) =>
      each(count, (i) => {
        const key = keyOf(prefix, i);
        if (dialect !== "webdis") return jsonRequest("/", ["SET", key, value(i)]);
        return value(i).length < PATH_VALUE_MAX
          ? pathRequest(["SET", key, value(i)])
          : httpRequest({ method: "PUT", path: `/SET/${key}`, headers, body: value(i) });
      }),
  };
}

function reading(name: string, prepares: Workload, { prefix, count }: Keys): Workload {
  return {
    name,
    commandsPerRequest: 1,
    prepares,
    requests: (dialect) =>
      each(count, (i) => {
        const command = ["GET", keyOf(prefix, i)];
        return dialect === "webdis" ? pathRequest(command) : jsonRequest("/", command);
      }),
  };
}

/** As many items as `count`, made from their index. */
function each<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function keyOf(prefix: string, i: number): string {
  return `${prefix}:${String(i).padStart(6, "0")}`;
}

function jsonRequest(path: string, body: unknown): Buffer {
  return httpRequest({ method: "POST", path, headers, body: JSON.stringify(body) });
}

function pathRequest(command: readonly string[]): Buffer {
  return httpRequest({ method: "GET", path: `/${command.join("/")}`, headers });
}
