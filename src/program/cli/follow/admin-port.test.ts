import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AREA,
  advance,
  append,
  type CopiedServer,
  copiedServer,
  DATA,
  dataDisk,
} from "../../../../test/harness/copy-fixture.ts";
import { SimulatedDisk } from "../../../../test/simulation/disk/simulated-disk.ts";
import type { HttpReply, HttpService } from "../../../edge/handler.ts";
import { silentLog } from "../../../kernel/log.ts";
import { Metrics } from "../../../kernel/metrics.ts";
import { FollowedCopy } from "../../../replication/follow/followed-copy.ts";
import { Follower } from "../../../replication/follow/follower.ts";
import { type ObjectStore, ObjectStoreFailure } from "../../../replication/objects/object-store.ts";
import { noRequests } from "../../../replication/objects/store-requests.ts";
import type { FollowerPhase } from "../../metrics/follower.ts";
import { followerService, type WatchedFollower } from "./admin-port.ts";

/** A follower in virtual time, whose store may refuse to return objects. */
async function watched({ store, clock }: CopiedServer) {
  const disk = new SimulatedDisk({ seed: 3 });
  await disk.mkdir(DATA);
  await disk.syncDirectory("/");
  const trouble = { isAway: false };
  const client = store.client();
  const troubled: ObjectStore = {
    ...client,
    get: (name, range) =>
      trouble.isAway ? Promise.reject(new ObjectStoreFailure("unavailable", "away")) : client.get(name, range),
  };
  const copy = await FollowedCopy.open({
    ...{ disk, directory: DATA, address: "s3://bucket/copy", clock, areas: [AREA], historyFile: "history.sqlite" },
  });
  const follower = new Follower({ copy, store: troubled, clock, log: silentLog, intervalMs: 10_000 });
  const service = followerService({
    ...{ version: "1.2.3", log: silentLog, clock, metrics: new Metrics() },
    ...{ listenHost: "127.0.0.1", isEncrypted: false, allowedHosts: [] },
    follower: {
      ...{ phase: () => copy.record.phase, record: () => copy.record, failures: () => follower.failures },
      ...{ requests: noRequests, applied: (area: string) => copy.figuresOf(area) },
    },
  });
  return { follower, service, trouble };
}

async function send(service: HttpService, line: string, headers: Readonly<Record<string, string>> = {}) {
  const [method = "", target = ""] = line.split(" ");
  const reply = await service.handle({
    ...{ method, target, rawHeaders: [], body: Buffer.alloc(0), remoteAddress: "127.0.0.1", remotePort: 1, id: "a-1" },
    header: (name) => headers[name],
  });
  return reply as HttpReply;
}

/** The lines of the follower, without comments and requests. */
async function figuresOf(service: HttpService): Promise<readonly string[]> {
  const { body } = await send(service, "GET /metrics");
  return String(body)
    .split("\n")
    .filter((line) => /^larder_follower_(?!phase)/.test(line) && !/area="(vector|messaging)"/.test(line))
    .map((line) => line.replace("larder_follower_", ""));
}

test("a follower reports its state, how far each area is behind, what it has applied, and its failures", async () => {
  const server = await copiedServer(await dataDisk());
  const { follower, service, trouble } = await watched(server);
  assert.deepEqual(await figuresOf(service), [
    "generation 0",
    "checked_timestamp_seconds 0",
    "failures_total 0",
    'behind_bytes{area="store"} 0',
    'applied_timestamp_seconds{area="store"} 0',
    'applied_objects_total{area="store"} 0',
    'applied_bytes_total{area="store"} 0',
  ]);
  await append(server, "a");
  await advance(server, 1_000);
  await follower.attempt();
  await advance(server, 2_000);
  assert.deepEqual(await figuresOf(service), [
    "generation 1",
    "checked_timestamp_seconds 1767225601",
    "failures_total 0",
    'behind_seconds{area="store"} 2',
    'behind_bytes{area="store"} 0',
    'applied_timestamp_seconds{area="store"} 1767225601',
    'applied_objects_total{area="store"} 2',
    'applied_bytes_total{area="store"} 105',
  ]);
  await append(server, "more");
  await advance(server, 1_000);
  trouble.isAway = true;
  await follower.attempt();
  assert.deepEqual((await figuresOf(service)).slice(1, 5), [
    "checked_timestamp_seconds 1767225601",
    "failures_total 1",
    'behind_seconds{area="store"} 3',
    'behind_bytes{area="store"} 44',
  ]);
  trouble.isAway = false;
  await follower.attempt();
  assert.deepEqual((await figuresOf(service)).slice(1), [
    "checked_timestamp_seconds 1767225604",
    "failures_total 1",
    'behind_seconds{area="store"} 0',
    'behind_bytes{area="store"} 0',
    'applied_timestamp_seconds{area="store"} 1767225604',
    'applied_objects_total{area="store"} 3',
    'applied_bytes_total{area="store"} 149',
  ]);
});

function serviceIn(phase: FollowerPhase): HttpService {
  const never = (): never => assert.fail("nothing reads it");
  const follower: WatchedFollower = {
    ...{ phase: () => phase, record: never, failures: never, requests: never, applied: never },
  };
  return followerService({
    ...{ version: "1.2.3", log: silentLog, clock: { nowMs: never }, metrics: new Metrics(), follower },
    ...{ listenHost: "127.0.0.1", isEncrypted: false, allowedHosts: [] },
  });
}

const FOLLOWS = "the directory follows a copy: larder promote makes it the server";
const areas = '{"store":"following","messaging":"following","vector":"following"}';
const token = { authorization: "Bearer secret" };

for (const [line, headers, status, body] of [
  ["GET /health/live", {}, 200, '{"status":"live"}'],
  ["GET /health/startup", {}, 200, `{"status":"started","areas":${areas}}`],
  ["GET /health/ready", {}, 503, `{"status":"not ready","areas":${areas},"reasons":["${FOLLOWS}"]}`],
  ["GET /health/live", { host: "rebound.example" }, 421, /does not answer to the host/],
  ["GET /metrics", { origin: "https://elsewhere.example", host: "127.0.0.1" }, 403, /ERR/],
  ["GET /v1/stats", token, 503, /this larder follows a copy and serves nothing yet/],
  ["POST /v1/databases", token, 503, /this larder follows a copy/],
  ["POST /v1/stop", {}, 503, /this larder follows a copy/],
  ["GET /console", {}, 404, /no such path/],
] as const)
  test(`${line} with ${JSON.stringify(headers)} is answered with ${status} while the directory follows`, async () => {
    const reply = await send(serviceIn("following"), line, headers);
    assert.equal(reply.status, status);
    if (typeof body === "string") assert.equal(reply.body, body);
    else assert.match(String(reply.body), body);
  });
