import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings, type SettingsReading } from "./read-settings.ts";
import type { RunSettings } from "./run-settings.ts";
import { settingList } from "./settings.ts";

interface Given {
  words?: string;
  environment?: Record<string, string>;
  files?: Record<string, string>;
}

function read({ words = "serve", environment = {}, files = {} }: Given): SettingsReading {
  return readSettings({
    arguments: words.split(" ").filter((word) => word !== ""),
    environment,
    readFile: (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error("no file"), { code: "ENOENT" });
      return text;
    },
  });
}

function run(given: Given): RunSettings {
  const reading = read(given);
  assert.equal(reading.kind, "run", JSON.stringify(reading));
  return (reading as { run: RunSettings }).run;
}

function problems(given: Given): readonly string[] {
  const reading = read(given);
  assert.equal(reading.kind, "refused");
  return (reading as { problems: readonly string[] }).problems;
}

test("token reset takes a database, and has the settings of serve", () => {
  const reading = read({ words: "token reset main --data-dir /d", environment: { LARDER_ADMIN_TOKEN: "abc" } });
  assert.ok(reading.kind === "run");
  assert.deepEqual([reading.command.words, reading.operands], ["token reset", ["main"]]);
  const { command, settings } = reading.run;
  assert.deepEqual([command, settings.dataDirectory, settings.adminToken], ["serve", "/d", "abc"]);
});

test("refuses a command without its words or operands", () => {
  for (const words of ["token", "token set main"])
    assert.deepEqual(problems({ words }), ["Incomplete command: use larder token reset <database>"], words);
  for (const words of ["token reset", "token reset --data-dir /d"])
    assert.deepEqual(problems({ words }), ["<database> is missing: larder token reset <database>"], words);
  assert.deepEqual(problems({ words: "token reset main other" }), [
    'Unknown argument "other": pass settings as --name value',
  ]);
});

test("operands may stand before, between and after flags", () => {
  for (const words of [
    "restore b.tar copy --at 5 --data-dir /d",
    "restore b.tar --at 5 copy --data-dir /d",
    "restore --at 5 --data-dir /d b.tar copy",
  ]) {
    const reading = read({ words });
    assert.ok(reading.kind === "run", words);
    assert.deepEqual([reading.operands, reading.options.get("at")], [["b.tar", "copy"], "5"], words);
  }
  assert.deepEqual(problems({ words: "token reset --data-dir /d main other more" }), [
    'Unknown argument "other": pass settings as --name value',
    'Unknown argument "more": pass settings as --name value',
  ]);
});

test("a switch with a value is refused: --replace=off would otherwise replace", () => {
  assert.deepEqual(problems({ words: "backup b.tar --replace=off" }), ['--replace takes no value: leave out "=off"']);
  assert.deepEqual(problems({ words: "db token main --reset= --json=1" }), [
    '--reset takes no value: leave out "="',
    '--json takes no value: leave out "=1"',
  ]);
});

test("an empty operand or path is refused: it would be the current directory", () => {
  const readWords = (...words: string[]) =>
    readSettings({ arguments: words, environment: {}, readFile: () => "{}" }) as { problems?: readonly string[] };
  assert.deepEqual(readWords("restore", "b.tar", "").problems, [
    "[<directory>] is empty: larder restore <backup> [<directory>]",
  ]);
  assert.deepEqual(readWords("db", "remove", "").problems, ["<name> is empty: larder db remove <name>"]);
  assert.deepEqual(readWords("serve", "--data-dir", "").problems, ["--data-dir: a path cannot be empty"]);
  // And these would be directories below it.
  for (const words of [
    "restore b.tar s3://b/x",
    "backup s3://b/x",
    "follow s3://b/x file:///y",
    "export store S3://b/x",
  ]) {
    const address = JSON.stringify(words.split(" ").at(-1));
    assert.match(
      String(readWords(...words.split(" ")).problems),
      new RegExp(`^${address} is an address, not a path: `),
      words,
    );
  }
  assert.deepEqual(readWords("serve", "--data-dir", "s3://b/x").problems, [
    '--data-dir: "s3://b/x" is an address: give the path of a file or directory',
  ]);
  assert.equal(readWords("restore", "s3://b/x", "new").problems, undefined);
});

test("a flag of many other commands is refused without the list of them", () => {
  assert.deepEqual(problems({ words: "version --json" }), ["larder version has no --json, which other commands have"]);
  assert.deepEqual(problems({ words: "serve --at 5" }), ["--at belongs to larder restore"]);
});

test("H.ports: serve without arguments has the defaults", () => {
  const { settings, command } = run({});
  assert.equal(command, "serve");
  assert.deepEqual(Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)), {
    dataDirectory: "./larder-data",
    fsync: "everysec",
    snapshots: true,
    replicateKeepMs: 604_800_000,
    replicateIntervalMs: 1_000,
    threads: "per-area",
    transport: "larder",
    http2: false,
    host: "127.0.0.1",
    storePort: 8079,
    messagingPort: 8080,
    vectorPort: 8081,
    adminHost: "127.0.0.1",
    adminPort: 8082,
    adminAllowedHosts: [],
    console: false,
    destinations: "public",
    allowedDestinations: [],
    outboundMap: [],
    requestBytesMax: 10_485_760,
    headerBytesMax: 65_536,
    memoryBytesMax: 0,
    evictionPolicy: "noeviction",
    evictionSamples: 5,
    scriptTimeMsMax: 1_000,
    scriptMemoryBytesMax: 67_108_864,
    undoBytesMax: 134_217_728,
    streamsPerTokenMax: 1_000,
    respConnectionsMax: 10_000,
    cors: true,
    queryToken: true,
    redisCompat: false,
    trustedProxies: [],
    clusterReads: "lease",
    takeoverWaitMs: 10_000,
    engineThreads: 1,
    front: false,
    ownerHeader: false,
    standby: true,
    connectionsPerAddressMax: 5_000,
    bodyBytesPerSecondMin: 1_024,
    shutdownGraceMs: 10_000,
    retriesMax: 1_000,
    delayMsMax: 94_867_200_000,
    timeoutMsMax: 7_200_000,
    schedulesMax: 100_000,
    queuesMax: 10_000,
    queueParallelismMax: 1_000,
    groupsMax: 10_000,
    endpointsMax: 1_000,
    stepsPerRunMax: 10_000,
    runBytesMax: 104_857_600,
    invokeDepthMax: 100,
    waitersPerEventMax: 10_000,
    lazyFetchBytes: 4_194_304,
    userParallelism: 1_000,
    destinationParallelism: 50,
    deadLetterRetentionMs: 604_800_000,
    logRetentionMs: 1_209_600_000,
    headerNames: "both",
    region: "US-EAST-1",
    topKMax: 1_000,
    recallTarget: 0.99,
    vectorRows: "memory",
    effortMax: 4_000,
    readsPerRequestMax: 1_000,
    writesPerRequestMax: 1_000,
    vectorRequestBytesMax: 67_108_864,
    dimensionMax: 5_376,
    sparseValuesMax: 1_000,
    metadataBytesMax: 49_152,
    dataBytesMax: 1_048_576,
    namespacesMax: 100_000,
    resumableQueriesMax: 1_000,
    logLevel: "info",
    logFormat: "auto",
  });
});

test("dev stores nothing, runs in one thread and may call any destination", () => {
  const { settings } = run({ words: "dev" });
  assert.equal(settings.dataDirectory, undefined);
  assert.equal(settings.threads, "one");
  assert.equal(settings.destinations, "any");
  assert.equal(settings.console, true);
  assert.equal(settings.storePort, 8079);
});

test("a flag overrides the environment, which overrides the file, which overrides the default", () => {
  const files = { "l.json": '{"host":"10.0.0.3"}' };
  const environment = { LARDER_CONFIG: "l.json", LARDER_HOST: "10.0.0.2" };

  const flag = run({ words: "serve --host 10.0.0.1", environment, files });
  assert.equal(flag.settings.host, "10.0.0.1");
  assert.deepEqual(flag.origins.host, { source: "flag", place: "--host" });

  const variable = run({ environment, files });
  assert.equal(variable.settings.host, "10.0.0.2");
  assert.deepEqual(variable.origins.host, { source: "environment", place: "LARDER_HOST" });

  const file = run({ words: "serve --config=l.json", files });
  assert.equal(file.settings.host, "10.0.0.3");
  assert.deepEqual(file.origins.host, { source: "file", place: "host in l.json:1" });

  assert.deepEqual(run({}).origins.host, { source: "default", place: "--host" });
});

test("every setting can be set by its flag or variable, and a bad value is reported by that name", () => {
  const anyText = new Set([
    "config",
    "dataDirectory",
    "tlsCertificatePath",
    "tlsKeyPath",
    "respCertificatePath",
    "respKeyPath",
  ]);
  for (const [name, row] of settingList) {
    const variable = row.environment[0] ?? "";
    const place = row.flag ?? variable;
    const bad = row.flag === undefined ? { environment: { [variable]: "ä" } } : { words: `serve ${row.flag} ,=!` };
    if (!anyText.has(name)) {
      const [problem = ""] = problems(bad);
      assert.ok(problem.startsWith(`${place}: `), `${name}: ${problem}`);
    }
  }
});

const values: readonly (readonly [words: string, name: string, value: unknown])[] = [
  ["--store-port 0", "storePort", 0],
  ["--store-port=65535", "storePort", 65_535],
  ["--port 3000", "port", 3_000],
  ["--port off", "port", undefined],
  ["--fsync always", "fsync", "always"],
  ["--snapshots off", "snapshots", false],
  ["--host ::1", "host", "::1"],
  ["--host localhost", "host", "localhost"],
  [
    "--max-request-size 100",
    "refused",
    '--max-request-size: "100" is not a size from 1kb to 128mb, such as 512kb or 10mb',
  ],
  ["--max-request-size 20MB", "requestBytesMax", 20_971_520],
  ["--max-response-size 100mb", "responseBytesMax", 104_857_600],
  [
    "--max-response-size 101mb",
    "refused",
    '--max-response-size: "101mb" is not a size from 1kb to 100mb, such as 512kb or 10mb',
  ],
  ["--daily-request-limit 10000", "requestsPerDayMax", 10_000],
  ["--pending-limit 1000", "pendingEntriesMax", 1_000],
  ["--maxmemory 0", "memoryBytesMax", 0],
  ["--maxmemory 100mb", "memoryBytesMax", 104_857_600],
  ["--maxmemory=1G", "memoryBytesMax", 1_000_000_000],
  ["--maxmemory lots", "refused", '--maxmemory: "lots" is not a size such as 100mb or 1gb, or 0 for no limit'],
  ["--maxmemory-policy allkeys-lfu", "evictionPolicy", "allkeys-lfu"],
  ["--maxmemory-samples 10", "evictionSamples", 10],
  ["--script-time-limit 250ms", "scriptTimeMsMax", 250],
  ["--script-memory 16mb", "scriptMemoryBytesMax", 16_777_216],
  ["--max-undo-size 16mb", "undoBytesMax", 16_777_216],
  ["--daily-request-limit off", "requestsPerDayMax", undefined],
  ["--pending-limit off", "pendingEntriesMax", undefined],
  ["--max-top-k 10", "topKMax", 10],
  ["--max-effort 500", "effortMax", 500],
  ["--vector-threads 2", "vectorThreads", 2],
  ["--vector-threads auto", "vectorThreads", undefined],
  ["--vector-threads 0", "refused", '--vector-threads: "0" is not a whole number from 1 to 64'],
  ["--vector-threads 65", "refused", '--vector-threads: "65" is not a whole number from 1 to 64'],
  ["--vector-threads many", "refused", '--vector-threads: "many" is not a whole number from 1 to 64'],
  ["--recall-target 0.95", "recallTarget", 0.95],
  ["--vector-rows disk", "vectorRows", "disk"],
  ["--vector-rows file", "refused", '--vector-rows: "file" is not one of memory, disk'],
  ["--recall-target .999", "recallTarget", 0.999],
  ["--recall-target 1", "recallTarget", 1],
  ["--recall-target 0.4", "refused", '--recall-target: "0.4" is not a share from 0.5 to 1, such as 0.95'],
  ["--recall-target 99%", "refused", '--recall-target: "99%" is not a share from 0.5 to 1, such as 0.95'],
  ["--recall-target 1.5", "refused", '--recall-target: "1.5" is not a share from 0.5 to 1, such as 0.95'],
  ["--max-dimension 65536", "dimensionMax", 65_536],
  ["--max-dimension 65537", "refused", '--max-dimension: "65537" is not a whole number from 1 to 65536'],
  ["--daily-query-limit 10000", "queriesPerDayMax", 10_000],
  ["--daily-update-limit off", "updatesPerDayMax", undefined],
  ["--heap-limit 2gb", "heapBytesMax", 2_147_483_648],
  ["--heap-limit auto", "heapBytesMax", undefined],
  ["--shutdown-grace 500ms", "shutdownGraceMs", 500],
  [
    "--allow-destination 169.254.169.254,fd00::/8,*.Test,a.b",
    "allowedDestinations",
    ["169.254.169.254", "fd00::/8", "*.test", "a.b"],
  ],
  [
    "--outbound-map a.test=127.0.0.1:80,*.b=[::1]:81",
    "outboundMap",
    [
      { host: "a.test", address: "127.0.0.1", port: 80 },
      { host: "*.b", address: "::1", port: 81 },
    ],
  ],
  ["--store-port 65536", "refused", '--store-port: "65536" is not a port from 0 to 65535'],
  ["--store-port 0x10", "refused", '--store-port: "0x10" is not a port from 0 to 65535'],
  ["--store-port=", "refused", '--store-port: "" is not a port from 0 to 65535'],
  ["--fsync sometimes", "refused", '--fsync: "sometimes" is not one of always, everysec, no'],
  ["--cors yes", "refused", '--cors: "yes" is not one of on, off'],
  ["--host 127.0.0.300", "refused", '--host: "127.0.0.300" is not an IP address or a host name'],
  ["--host a_b!", "refused", '--host: "a_b!" is not an IP address or a host name'],
  ["--daily-request-limit 0", "refused", '--daily-request-limit: "0" is not a whole number from 1 to 9007199254740991'],
  ["--shutdown-grace 10", "refused", '--shutdown-grace: "10" is not a time from 0ms to 10m, such as 500ms, 10s or 2m'],
  [
    "--allow-destination 10.0.0.0/33",
    "refused",
    '--allow-destination: "10.0.0.0/33" is not a CIDR block, an address, a host name or *.suffix',
  ],
  ["--outbound-map a=b:80", "refused", '--outbound-map: "a=b:80" is not host=address:port or *.suffix=address:port'],
  ["--resp-port 6379", "respPort", 6_379],
  ["--resp-port 6379 --redis-compat on", "redisCompat", true],
  [
    "--resp-port 6379 --resp-tls-cert c.pem",
    "refused",
    "--resp-tls-cert needs --resp-tls-key as well: TLS needs a certificate and its key",
  ],
  [
    "--resp-port 6379 --resp-tls-key k.pem",
    "refused",
    "--resp-tls-key needs --resp-tls-cert as well: TLS needs a certificate and its key",
  ],
  [
    "--resp-tls-cert c.pem --resp-tls-key k.pem",
    "refused",
    "--resp-tls-cert has no effect without the RESP port: set --resp-port as well, or leave it out",
  ],
  [
    "--resp-port 6379 --redis-compat on --host 0.0.0.0",
    "refused",
    "--redis-compat accepts clients without a password, and other machines may reach 0.0.0.0: set --host 127.0.0.1, or turn it off",
  ],
  ["--max-resp-connections 5", "respConnectionsMax", 5],
  [
    "--redis-compat on",
    "refused",
    "--redis-compat has no effect without the RESP port: set --resp-port as well, or leave it out",
  ],
  ["--store-port", "refused", "--store-port needs a value: --store-port <port>"],
  ["--store-port --host ::1", "refused", "--store-port needs a value: --store-port <port>"],
  ["--host ::1 --host ::1", "refused", "--host is given twice"],
  ["--hots ::1", "refused", "Unknown flag --hots: did you mean --host?"],
  ["--store-token=canary", "refused", "Unknown flag --store-token: larder help settings lists the settings"],
  ["now", "refused", 'Unknown argument "now": pass settings as --name value'],
  [
    "--port 80 --threads per-area",
    "refused",
    "--threads per-area and --port cannot both be set: one port is served by one thread",
  ],
  ["--port 80 --store-port 81", "refused", "--port and --store-port cannot both be set: one port serves all areas"],
  [
    "--threads one --heap-limit 1gb",
    "refused",
    "--heap-limit needs a thread per area: with one thread, set NODE_OPTIONS=--max-old-space-size=<MB>",
  ],
];

for (const [words, name, value] of values) {
  test(`${words} → ${typeof value === "string" ? value : JSON.stringify(value)}`, () => {
    if (name === "refused") assert.deepEqual(problems({ words: `serve ${words}` }), [value]);
    else assert.deepEqual((run({ words: `serve ${words}` }).settings as Record<string, unknown>)[name], value);
  });
}

const commands: readonly (readonly [words: string, kind: string, problem?: string])[] = [
  ["--help", "help"],
  ["serve -h", "help"],
  ["--version", "version"],
  ["", "refused", "Missing command: use larder serve, larder dev or larder check (larder help lists the commands)"],
  ["sevre", "refused", 'Unknown command "sevre": did you mean serve?'],
  ["xyz", "refused", 'Unknown command "xyz": larder help lists the commands'],
  ["serve --xyz", "refused", "Unknown flag --xyz: larder help settings lists the settings"],
];

for (const [words, kind, problem] of commands) {
  test(`larder ${words} → ${kind}`, () => {
    const reading = read({ words });
    assert.equal(reading.kind, kind);
    if (reading.kind === "refused") assert.deepEqual(reading.problems, [problem]);
  });
}

const topics: readonly (readonly [words: string, topic: readonly string[]])[] = [
  ["--help", []],
  ["backup --help", ["backup"]],
  ["backup larder.tar --replace -h", ["backup"]],
  ["import vector docs.ndjson --help", ["import", "vector"]],
  ["token --help", ["token"]],
];

for (const [words, topic] of topics) {
  test(`larder ${words} asks for help on ${JSON.stringify(topic)}`, () => {
    assert.deepEqual(read({ words }), { kind: "help", topic });
  });
}

test("the commands that describe the program ignore invalid settings", () => {
  const reading = read({
    words: "help backup --no-color",
    environment: { LARDER_STORE_PORT: "x", LARDER_CONFIG: "x" },
  });
  assert.ok(reading.kind === "run");
  assert.deepEqual(reading.operands, ["backup"]);
  assert.deepEqual(problems({ words: "completions" }), [
    "<bash|zsh|fish> is missing: larder completions <bash|zsh|fish>",
  ]);
});

test("one port serves all areas in one thread", () => {
  assert.equal(run({ words: "serve --port 0" }).settings.threads, "one");
  assert.equal(run({ environment: { PORT: "0" } }).settings.threads, "one");
  assert.equal(run({ environment: { PORT: "1", LARDER_PORT: "2" } }).settings.port, 2);
});

test("PORT, which belongs to the developed application, does not move larder dev", () => {
  assert.equal(run({ words: "dev", environment: { PORT: "80" } }).settings.port, undefined);
  assert.equal(run({ words: "env --dev", environment: { PORT: "80" } }).settings.port, undefined);
  assert.equal(run({ words: "dev", environment: { PORT: "80", LARDER_PORT: "81" } }).settings.port, 81);
});

test("an area's port from a source of higher precedence turns the single port off", () => {
  const { settings } = run({ words: "serve --store-port 81", environment: { PORT: "80" } });
  assert.equal(settings.port, undefined);
  assert.equal(settings.storePort, 81);
  assert.equal(settings.threads, "per-area");
});

test("refuses an unknown variable by name, and does not show its value", () => {
  assert.deepEqual(problems({ environment: { LARDER_STORE_TOKN: "canary" } }), [
    "Unknown environment variable LARDER_STORE_TOKN: did you mean LARDER_STORE_TOKEN?",
  ]);
});

test("ignores the variables that Kubernetes sets for a service named larder", () => {
  const { settings } = run({
    environment: {
      LARDER_PORT: "tcp://10.0.0.1:8079",
      LARDER_SERVICE_HOST: "10.0.0.1",
      LARDER_SERVICE_PORT: "8079",
      LARDER_SERVICE_PORT_HTTP: "8079",
      LARDER_PORT_8079_TCP: "tcp://10.0.0.1:8079",
      LARDER_PORT_8079_TCP_ADDR: "10.0.0.1",
      LARDER_STORE_SERVICE_HOST: "10.0.0.2",
    },
  });
  assert.equal(settings.port, undefined);
});

test("an empty variable counts as not set", () => {
  assert.equal(run({ environment: { LARDER_HOST: "", PORT: "" } }).settings.host, "127.0.0.1");
});

test("reads a secret from a file, without the line break at its end", () => {
  const { settings, origins } = run({
    environment: { LARDER_STORE_TOKEN_FILE: "/run/t", LARDER_ADMIN_TOKEN: "abc" },
    files: { "/run/t": "token-from-file\n" },
  });
  assert.equal(settings.storeToken, "token-from-file");
  assert.equal(origins.storeToken.place, "LARDER_STORE_TOKEN_FILE");
  assert.equal(settings.adminToken, "abc");
});

test("refuses a secret that is given twice, or whose file is missing", () => {
  assert.deepEqual(
    problems({
      environment: { LARDER_STORE_TOKEN: "a", LARDER_STORE_TOKEN_FILE: "t", LARDER_ADMIN_TOKEN_FILE: "/no" },
      files: { t: "b" },
    }),
    [
      "LARDER_STORE_TOKEN and LARDER_STORE_TOKEN_FILE are both set: keep one of them",
      "LARDER_ADMIN_TOKEN_FILE: there is no file /no",
    ],
  );
});

test("reports all mistakes in the file at once, with its name and their lines", () => {
  assert.deepEqual(
    problems({
      words: "serve --config l.json",
      files: { "l.json": '{\n  "hots": "x",\n  "store": {\n    "databases": [{ "name": "" }]\n  }\n}' },
    }).map((problem) => problem.slice(0, 50)),
    ["l.json:2:3: hots is not a known key", "l.json:4:21: store.databases[0].name is not a name"],
  );
  assert.deepEqual(problems({ words: "serve --config l.json", files: { "l.json": '{\n  "storePort": 70000\n}' } }), [
    'l.json:2:3: storePort: "70000" is not a port from 0 to 65535',
  ]);
  assert.deepEqual(problems({ words: "serve --config l.json", files: { "l.json": '{\n  "host": \n}' } }), [
    "l.json:3:1: is not JSON: a value is missing",
  ]);
  assert.deepEqual(problems({ words: "serve --config no.json" }), ["Configuration file: there is no file no.json"]);
});

test("reports mistakes in flags, variables, the file and combinations together", () => {
  assert.deepEqual(
    problems({
      words: "serve now --hots x --store-port abc --tls-cert c --redis-compat on --config l.json",
      environment: { LARDER_FSYNC: "never", LARDER_VECTR_PORT: "1" },
      files: { "l.json": '{"hsot":"x","messagingPort":70000,"store":{"databases":[{"name":""}]}}' },
    }).map((problem) => problem.split(": ", 1)[0]),
    [
      'Unknown argument "now"',
      "Unknown flag --hots",
      "Unknown environment variable LARDER_VECTR_PORT",
      "l.json:1:2",
      "l.json:1:58",
      "LARDER_FSYNC",
      "--store-port",
      "l.json:1:13",
      "--tls-cert needs --tls-key as well",
      "--redis-compat has no effect without the RESP port",
    ],
  );
});

test("HTTP/2 needs a certificate", () => {
  assert.deepEqual(problems({ words: "serve --http2 on" }), [
    "--http2 needs TLS: set --tls-cert and --tls-key as well, or leave it out",
  ]);
  assert.equal(run({ words: "serve --http2 on --tls-cert c --tls-key k" }).settings.http2, true);
});

test("does not check combinations with a setting that is malformed, has no value or is in an unreadable file", () => {
  assert.deepEqual(problems({ words: "serve --redis-compat on --resp-port abc" }), [
    '--resp-port: "abc" is not a port from 0 to 65535',
  ]);
  assert.deepEqual(problems({ words: "serve --tls-cert --tls-key k" }), [
    "--tls-cert needs a value: --tls-cert <path>",
  ]);
  assert.deepEqual(problems({ words: "serve --tls-cert c --config no.json" }), [
    "Configuration file: there is no file no.json",
  ]);
});

test("a problem of several settings names the line of each that is in the file", () => {
  const files = { "l.json": '{\n  // One port for all areas.\n  "port": 80,\n  "storePort": 81,\n}' };
  assert.deepEqual(problems({ words: "serve --config l.json", files }), [
    "port in l.json:3 and storePort in l.json:4 cannot both be set: one port serves all areas",
  ]);
});

test("the admin token may be in the file", () => {
  const { settings, origins } = run({
    words: "serve --config l.json",
    files: { "l.json": '{"admin":{"token":"abc"}}' },
  });
  assert.equal(settings.adminToken, "abc");
  assert.equal(origins.adminToken.place, "admin.token in l.json:1");
});

test("no flag, variable or file key belongs to two settings", () => {
  const names = settingList
    .flatMap(([, row]) => [row.flag, row.fileKey, ...row.environment])
    .filter((name) => name !== undefined);
  assert.equal(new Set(names).size, names.length);
});
