/** The server alone, with areas that only record their calls. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { AreaApi, AreaName } from "./areas/area.ts";
import { noClients } from "./areas/area-clients.ts";
import { StartRefusal } from "./refusal.ts";
import { Server, type Slot } from "./server.ts";
import { readSettings } from "./settings/read-settings.ts";

const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog };

interface Setup {
  readonly server: Server;
  /** The calls of the areas, in order. */
  readonly steps: string[];
  readonly crashed: Promise<void>;
  crashCount(): number;
}

interface Given {
  readonly refusesPort?: AreaName;
  readonly dataDirectory?: string;
  readonly log?: Log;
}

function setUp(context: TestContext, { refusesPort, dataDirectory, log = silentLog }: Given = {}): Setup {
  const steps: string[] = [];
  const { promise: crashed, resolve } = Promise.withResolvers<void>();
  let crashCount = 0;
  const place = dataDirectory === undefined ? ["dev"] : ["serve", "--data-dir", dataDirectory];
  const words = [...place, "--threads", "per-area", "--admin-port", "0"];
  const reading = readSettings({ arguments: words, environment: {}, readFile: () => "" });
  assert.ok(reading.kind === "run");
  const server = new Server({
    run: reading.run,
    version: "0.0.0",
    log,
    logFormat: "text",
    clock: systemClock,
    onCrash: () => {
      crashCount += 1;
      resolve();
    },
    newSlot: (name) => notingSlot(name, { steps, refusesPort: name === refusesPort }),
  });
  context.after(() => server.close(0));
  return { server, steps, crashed, crashCount: () => crashCount };
}

function notingSlot(name: AreaName, { steps, refusesPort }: { steps: string[]; refusesPort: boolean }): Slot {
  let status = "opening";
  const note = (step: string): void => {
    steps.push(`${step} ${name}`);
  };
  const api: AreaApi = {
    control: {
      bind: async () => {
        note("bind");
        if (refusesPort) throw new StartRefusal("the port is in use");
        return { port: 1, respPort: undefined };
      },
      open: async () => {
        note("open");
        status = "serving";
      },
      confirmed: async () => {},
      follow: async () => {},
      replaceKeys: async () => {},
      changeTenants: async () => [],
      prepareRelease: async () => {},
      release: async () => {},
      close: async () => {},
      figures: async () => [],
    },
    data: {
      reset: async () => note("reset"),
      tenantNames: async () => [],
      tenantMemory: async () => [],
      setTokens: async () => {},
      dropTenant: async () => {},
      backUp: async () => 0,
    },
    snapshots: { prepareSnapshot: async () => {}, finishSnapshot: async () => false },
    clients: noClients,
  };
  return {
    name,
    api,
    local: undefined,
    get status() {
      return status;
    },
    reasons: [],
    makeHere: async () => note("make here"),
    makeInWorker: async () => note("make"),
    close: async (graceMs) => note(`close in ${graceMs} ms`),
    abandon: async () => note("abandon"),
  };
}

const allOf = (step: string): readonly string[] => [`${step} store`, `${step} messaging`, `${step} vector`];

test("binds every port before an area opens, and a stop closes each area once", async (context) => {
  const { server, steps } = setUp(context);
  const addresses = await server.open();
  assert.equal(addresses.store, "http://127.0.0.1:1");
  assert.deepEqual(steps, [...allOf("make"), ...allOf("bind"), ...allOf("open")]);
  steps.length = 0;

  const first = server.close(5);
  const second = server.close(9);

  assert.equal(second, first);
  await first;
  assert.deepEqual(steps, allOf("close in 5 ms"));
});

test("the admin port answers until the areas are closed", async (context) => {
  const { server } = setUp(context);
  const { admin } = await server.open();
  assert.equal((await fetch(`${admin}/health/live`)).status, 200);
  await server.close(0);
  await assert.rejects(fetch(`${admin}/health/live`));
});

test("a port in use ends the start before any area opens", async (context) => {
  const { server, steps } = setUp(context, { refusesPort: "messaging" });
  await assert.rejects(server.open(), StartRefusal);
  await server.close(0);
  assert.deepEqual(steps, [...allOf("make"), ...allOf("bind"), ...allOf("close in 0 ms")]);
});

test("a start that was refused has shown no token: the next one prints them, and misses no file", async (context) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "larder-server-"));
  context.after(() => rmSync(dataDirectory, { recursive: true }));
  const refused = setUp(context, { refusesPort: "vector", dataDirectory });
  await assert.rejects(refused.server.open(), /the port is in use/);
  await refused.server.close(0);
  const generated = readFileSync(join(dataDirectory, "tokens.json"), "utf8");

  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (event) => void warnings.push(event), with: () => log };
  const { server } = setUp(context, { dataDirectory, log });
  await server.open();

  assert.equal(server.directory.isFirstStart, true);
  assert.ok(generated.includes(server.tenants.adminToken.value));
  assert.deepEqual(warnings, []);
});

test("when an area crashes, the others get a second to close, and the owner is notified once", async (context) => {
  const { server, steps, crashed, crashCount } = setUp(context);
  await server.open();
  steps.length = 0;
  server.crashed("vector", "its thread ended with code 1");
  server.crashed("store", "its thread ended with code 1");
  await crashed;
  await server.close();
  assert.deepEqual(steps, allOf("close in 1000 ms"));
  assert.equal(crashCount(), 1);
});

test("does not empty an area that does not serve yet", async (context) => {
  const { server, steps } = setUp(context);
  await assert.rejects(server.reset());
  assert.deepEqual(steps, []);
  await server.open();
  steps.length = 0;
  await server.reset();
  assert.deepEqual(steps, allOf("reset"));
  await server.close(0);
});
