/**
 * Moving indexes: the official client fills one, it is exported and imported
 * into others, and what they answer is compared. All of them are in one server;
 * the source of a hosted import is that server's address with another token.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { Index } from "@upstash/vector";
import { type Clock, systemClock } from "../../src/kernel/clock.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { type Larder, start } from "../../src/mod.ts";
import { commandRows } from "../../src/program/cli/commands.ts";
import { Progress } from "../../src/program/cli/progress.ts";
import { readSettings } from "../../src/program/settings/read-settings.ts";
import { AreaClient } from "../../src/transfer/area-client.ts";
import { exportVectors, type VectorExport } from "../../src/transfer/vector/export.ts";
import { importVectors, type VectorImport } from "../../src/transfer/vector/import.ts";
import { IndexClient } from "../../src/transfer/vector/index-client.ts";
import { sourceFromFile, sourceFromIndex } from "../../src/transfer/vector/source.ts";

const letters = { model: "LETTERS", provider: "hashing", dimension: 384 } as const;
const kinds = {
  source: { type: "DENSE", dimension: 4 },
  copy: { type: "DENSE", dimension: 4 },
  open: { type: "DENSE" },
  wide: { type: "DENSE", dimension: 5 },
  euclidean: { type: "DENSE", dimension: 4, similarity: "EUCLIDEAN" },
  hybrid: { type: "HYBRID", embedding: letters, sparseEmbedding: "BM25" },
  hybridCopy: { type: "HYBRID", embedding: letters, sparseEmbedding: "BM25" },
} as const;
type Name = keyof typeof kinds;

let larder: Larder;
let folder: string;
const clients: AreaClient[] = [];

before(async () => {
  const indexes = Object.entries(kinds).map(([name, kind]) => ({
    ...{ name, token: `token-of-${name}`, readOnlyToken: `read-only-token-of-${name}` },
    ...kind,
  }));
  larder = await start({ vector: { indexes } });
  folder = mkdtempSync(join(tmpdir(), "larder-test-"));
});
beforeEach(() => larder.reset());
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await larder.stop();
  rmSync(folder, { recursive: true, force: true });
});

const official = (name: Name): Index => new Index({ url: larder.vector.url, token: `token-of-${name}`, retry: false });

function client(token: string, base = larder.vector.url, clock: Clock = systemClock): AreaClient {
  const made = new AreaClient({ base, token, clock });
  clients.push(made);
  return made;
}

const indexAt = (base: string, token: string, clock?: Clock): IndexClient =>
  new IndexClient(client(token, base, clock), { name: "the index" });

const ours = (name: Name): IndexClient => indexAt(larder.vector.url, `token-of-${name}`);

const silent = (): Progress =>
  new Progress({ unit: "records", clock: systemClock, terminal: undefined, log: silentLog });

function exporting(name: Name, more: Partial<VectorExport> = {}): VectorExport {
  return {
    ...{ index: ours(name), indexName: name, path: join(folder, `${name}.ndjson`), namespace: undefined },
    ...{ replaces: true, resumes: false, clock: systemClock, progress: silent() },
    ...more,
  };
}

async function importing(
  name: Name,
  more: Partial<VectorImport> & Pick<VectorImport, "source">,
): Promise<VectorImport> {
  return {
    ...{ index: ours(name), indexName: name, stateDirectory: join(folder, "transfers"), namespace: undefined },
    ...{ replaces: false, resumes: false, clock: systemClock, progress: silent() },
    ...more,
  };
}

/** The answers to range over everything, as bytes. */
async function everything(name: Name): Promise<string> {
  const texts: string[] = [];
  for (const namespace of await ours(name).namespaces()) {
    const path = `/range/${namespace.split("/").map(encodeURIComponent).join("/")}`;
    const body = JSON.stringify({
      ...{ cursor: "0", limit: 1_000 },
      ...{ includeMetadata: true, includeVectors: true, includeData: true },
    });
    const answer = await client(`token-of-${name}`).send({ method: "POST", path, body });
    texts.push(`${JSON.stringify(namespace)} ${answer.body}`);
  }
  return texts.join("\n");
}

/** Names that paths, file names or objects could trip over. */
const odd = ["a/b", "a//c", "..", "__proto__", "ü ?#%41&+", '"quoted"', " "];

/** Float32 at the ends of what decimals tell apart, beside ordinary ones. */
const vectors = [
  [0.1, 0.2, 0.3, 0.4],
  [1.401298464324817e-45, 1.1754943508222875e-38, 9.999999680285692e18, -1],
  [16777217, 1 / 3, -2.5e-7, 8388609.5],
];

async function fillSource(): Promise<void> {
  const index = official("source");
  const records = Array.from({ length: 25 }, (_, i) => ({
    id: `id-${i}`,
    vector: vectors[i % vectors.length] ?? [],
    metadata: { z: i, a: { nested: [true, null, "ü\u2028"] }, "1": "first" },
    data: `text\n"${i}"`,
  }));
  await index.upsert(records);
  for (const namespace of odd) {
    // The official client leaves the name as it is, so a URL would end at its ? or #.
    const path = namespace.split("/").map(encodeURIComponent).join("/");
    await client("token-of-source").send({
      method: "POST",
      path: `/upsert/${path}`,
      body: `[{"id":"of ${path}","vector":[1,2,3,4],"metadata":{"big":12345678901234567890,"__proto__":{"x":1.10}}},{"id":"bare","vector":[1,0,0,0]}]`,
    });
  }
}

const SOURCE_COUNT = 25 + 2 * 7;

test("an exported and imported index has the same range responses, byte for byte", async () => {
  await fillSource();

  const exported = await exportVectors(exporting("source"));
  const path = join(folder, "source.ndjson");
  const imported = await importVectors(await importing("copy", { source: await sourceFromFile(path) }));

  assert.equal(await everything("copy"), await everything("source"));
  assert.deepEqual(imported.total.state, exported.total.state);
  assert.deepEqual([exported.total.state.count, exported.namespaceCount], [SOURCE_COUNT, 8]);
  assert.deepEqual([exported.mismatches, imported.mismatches], [[], []]);
  assert.deepEqual(
    imported.namespaces.map(({ name, count }) => [name, count]),
    [["", 25], ...odd.toSorted().map((name) => [name, 2])],
  );
});

test("imports an index from its address into an index with an open dimension, by its read-only token", async () => {
  await fillSource();

  const source = await sourceFromIndex(indexAt(larder.vector.url, "read-only-token-of-source"), larder.vector.url);
  const report = await importVectors(await importing("open", { source }));

  assert.equal(await everything("open"), await everything("source"));
  assert.deepEqual([report.total.state.count, report.mismatches], [SOURCE_COUNT, []]);
});

test("transfers a single namespace, and refuses a missing one", async () => {
  await fillSource();
  const source = await sourceFromIndex(ours("source"), "there");

  const report = await importVectors(await importing("copy", { source, namespace: "a/b" }));

  assert.deepEqual(await official("copy").listNamespaces(), ["", "a/b"]);
  assert.deepEqual(report.namespaces, [{ name: "a/b", count: 2 }]);
  await assert.rejects(importVectors(await importing("copy", { source, namespace: "nope" })), {
    message: 'there has no namespace "nope"',
  });
  await exportVectors(exporting("source", { namespace: "a/b", path: join(folder, "one.ndjson") }));
  const file = await sourceFromFile(join(folder, "one.ndjson"));
  assert.deepEqual([...file.counts], [["a/b", 2]]);
});

test("texts of an index with models come with their vectors, dense and sparse", async () => {
  await official("hybrid").upsert([
    { id: "one", data: "the quick brown fox", metadata: { n: 1 } },
    { id: "two", data: "jumps over the lazy dog" },
  ]);

  const source = await sourceFromIndex(ours("hybrid"), "there");
  const report = await importVectors(await importing("hybridCopy", { source }));

  assert.equal(await everything("hybridCopy"), await everything("hybrid"));
  assert.deepEqual([report.total.state.count, report.mismatches], [2, []]);
});

test("refuses an index of another kind, and names both", async () => {
  await fillSource();
  const source = await sourceFromIndex(ours("source"), "there");
  const refusals: [Name, string][] = [
    ["wide", "DENSE with 5 dimensions and COSINE"],
    ["euclidean", "DENSE with 4 dimensions and EUCLIDEAN"],
    ["hybrid", "HYBRID with 384 dimensions and COSINE"],
  ];
  for (const [name, kind] of refusals)
    await assert.rejects(importVectors(await importing(name, { source })), {
      message: `there is DENSE with 4 dimensions and COSINE, and the index ${name} is ${kind}: records of one cannot be in the other`,
    });
  assert.equal((await official("wide").info()).vectorCount, 0);
});

test("keeps existing records and imports nothing, unless with --replace", async () => {
  await fillSource();
  await official("copy")
    .namespace("__proto__")
    .upsert({ id: "mine", vector: [1, 1, 1, 1] });
  const source = await sourceFromIndex(ours("source"), "there");

  await assert.rejects(importVectors(await importing("copy", { source })), {
    message:
      'The namespace "__proto__" of the index copy holds 1 record already: empty it with --replace, or continue an interrupted import with --resume',
  });
  assert.equal((await official("copy").info()).vectorCount, 1);

  await importVectors(await importing("copy", { source, replaces: true }));
  assert.equal(await everything("copy"), await everything("source"));
});

test("does not empty an index to fill it from itself, nor takes another index of equal size for it", async () => {
  await fillSource();
  const before = await everything("source");
  const source = await sourceFromIndex(ours("source"), "there");

  await assert.rejects(importVectors(await importing("source", { source, replaces: true })), {
    message: "there is the index source itself: --replace would empty it before it is read",
  });
  assert.equal(await everything("source"), before);

  await importVectors(await importing("copy", { source }));
  await official("copy").delete("id-3");
  await official("copy").upsert({ id: "another", vector: [1, 1, 1, 1] });
  await importVectors(await importing("copy", { source, replaces: true }));
  assert.equal(await everything("copy"), before);
});

/** A server between the commands and the index that answers for some requests itself. */
async function between(
  answer: (path: string, number: number) => { status: number; headers?: Record<string, string> } | undefined,
): Promise<{ url: string; requests: string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const requests: string[] = [];
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "";
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    requests.push(`${path} ${body.length < 200 ? body.toString() : ""}`);
    const own = answer(path, requests.length);
    if (own !== undefined) {
      response.writeHead(own.status, own.headers).end('{"error":"not now","status":0}');
      return;
    }
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const reply = await client(token).send({ method: "POST", path, body });
    response.writeHead(reply.status).end(reply.body);
  };
  const server = createServer((request, response) => void pass(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("continues an interrupted import, with the same final result", async () => {
  await fillSource();
  let isDown = false;
  await using relay = await between((path) => (isDown && path.startsWith("/upsert/%22") ? { status: 401 } : undefined));
  // In a namespace that comes behind the interruption: the same command replaces it too.
  await official("copy")
    .namespace("__proto__")
    .upsert({ id: "old", vector: [1, 1, 1, 1] });
  const source = await sourceFromIndex(ours("source"), "there");
  const wanted = await importing("copy", { source, index: indexAt(relay.url, "token-of-copy"), replaces: true });

  await assert.rejects(importVectors({ ...wanted, resumes: true }), {
    message: "There is nothing to resume: run the command without --resume",
  });
  isDown = true;
  await assert.rejects(importVectors(wanted), {
    message:
      "the index refuses /upsert/%22quoted%22: not now (401)\nThe work done so far is kept: run the same command with --resume to continue",
  });
  isDown = false;
  relay.requests.length = 0;
  const other = { ...wanted, source: { ...source, identity: "elsewhere" } };
  await assert.rejects(importVectors({ ...other, resumes: true }), { message: /had another source or another target/ });
  const report = await importVectors({ ...wanted, resumes: true });

  assert.equal(await everything("copy"), await everything("source"));
  assert.deepEqual([report.total.state.count, report.namespaceCount, report.mismatches], [SOURCE_COUNT, 8, []]);
  assert.ok(!relay.requests.some((request) => request.startsWith("/upsert ")), "what was done is not done again");
});

test("imports the rest of a file after an interruption, and refuses a truncated or changed file", async () => {
  await fillSource();
  const path = join(folder, "source.ndjson");
  const exported = await exportVectors(exporting("source"));
  let isDown = true;
  await using relay = await between((to) => (isDown && to === "/upsert/a/b" ? { status: 401 } : undefined));
  const wanted = await importing("copy", {
    source: await sourceFromFile(path),
    index: indexAt(relay.url, "token-of-copy"),
  });
  await assert.rejects(importVectors(wanted), { message: /not now \(401\)/ });
  isDown = false;

  const report = await importVectors({ ...wanted, resumes: true });

  assert.equal(await everything("copy"), await everything("source"));
  assert.deepEqual(report.total.state, exported.total.state);

  const text = readFileSync(path, "utf8");
  const cut = join(folder, "cut.ndjson");
  writeFileSync(cut, text.slice(0, text.lastIndexOf('{"end"')));
  await assert.rejects(sourceFromFile(cut), { message: /cut\.ndjson is incomplete: its last line is missing/ });
  writeFileSync(cut, text.replace('"id":"id-7"', '"id":"id-x"'));
  const changed = await importVectors(await importing("copy", { source: await sourceFromFile(cut), replaces: true }));
  assert.equal(changed.mismatches.length, 1);
  assert.match(changed.mismatches[0] ?? "", /cut\.ndjson states that "" has 25 records .*: it is damaged$/);
});

test("continues an export after the content of its file, with the same result as one run", async () => {
  await fillSource();
  await exportVectors(exporting("source"));
  const whole = readFileSync(join(folder, "source.ndjson"), "utf8");
  const path = join(folder, "resumed.ndjson");
  let isDown = true;
  await using relay = await between((to) => (isDown && to.startsWith("/range/a//c") ? { status: 401 } : undefined));
  const index = indexAt(relay.url, "token-of-source");
  const wanted = exporting("source", { index, path, replaces: false });

  await assert.rejects(exportVectors(wanted), {
    message: /^the index refuses \/range\/a\/\/c: not now \(401\)\nThe work done so far/,
  });
  isDown = false;
  const report = await exportVectors({ ...wanted, resumes: true });

  assert.equal(readFileSync(path, "utf8"), whole);
  assert.equal(report.total.state.count, SOURCE_COUNT);
  await assert.rejects(exportVectors(wanted), { message: /resumed\.ndjson already exists: name another file/ });
});

test("continues an import within a namespace of several pages, and does not resend stored records", async () => {
  const records = Array.from({ length: 2_300 }, (_, i) => ({ id: `${i}`, vector: [i, 1, 2, 3], data: `text ${i}` }));
  for (let from = 0; from < records.length; from += 1_000)
    await official("source").upsert(records.slice(from, from + 1_000));
  const exported = await exportVectors(exporting("source"));
  const file = await sourceFromFile(join(folder, "source.ndjson"));
  const address = await sourceFromIndex(ours("source"), "there");
  for (const source of [address, file]) {
    let sent = 0;
    let isDown = true;
    await using relay = await between((to) => {
      if (to !== "/upsert") return undefined;
      sent += 1;
      return isDown && sent === 3 ? { status: 401 } : undefined;
    });
    const index = indexAt(relay.url, "token-of-copy");
    const wanted = await importing("copy", { source, index });
    await assert.rejects(importVectors(wanted), { message: /--resume to continue$/ });
    assert.equal((await official("copy").info()).vectorCount, 2_000);
    isDown = false;

    const report = await importVectors({ ...wanted, resumes: true });

    assert.deepEqual([report.total.state, report.mismatches], [exported.total.state, []]);
    assert.equal(sent, 4, "two pages that were taken, one that was refused, and that one again");
    await official("copy").reset();
  }
});

test("reports writes during an export", async () => {
  await fillSource();
  const index = ours("source");
  const range = index.range.bind(index);
  let isFirst = true;
  // Between the first reading of the default namespace and the second.
  index.range = async (namespace, cursor) => {
    const page = await range(namespace, cursor);
    if (isFirst) await official("source").delete("id-0");
    isFirst = false;
    return page;
  };

  const report = await exportVectors(exporting("source", { index }));

  assert.deepEqual(report.mismatches, ['the namespace "" changed during the export']);
});

test("retries a rate-limited source after a pause, and gives up in a sentence", async () => {
  await fillSource();
  const pauses: number[] = [];
  const impatient: Clock = {
    ...systemClock,
    after(delayMs, task) {
      pauses.push(delayMs);
      queueMicrotask(task);
      return () => {};
    },
  };
  let isLimited = (number: number): boolean => number > 1 && number < 4;
  await using relay = await between((_, number) =>
    isLimited(number) ? { status: 429, headers: { "retry-after": "7" } } : undefined,
  );
  const source = await sourceFromIndex(indexAt(relay.url, "token-of-source", impatient), relay.url);
  const report = await importVectors(await importing("copy", { source }));
  assert.deepEqual([report.mismatches, pauses], [[], [7_000, 7_000]]);
  assert.equal(await everything("copy"), await everything("source"));

  isLimited = () => true;
  await assert.rejects(sourceFromIndex(indexAt(relay.url, "token-of-source", impatient), relay.url), {
    message: "the index refuses /info: not now (429)",
  });
});

test("larder export vector and larder import vector work as commands", async () => {
  const words = ["serve", "--data-dir", join(folder, "data"), "--threads", "one"];
  const reading = readSettings({ arguments: words, environment: {}, readFile: () => "" });
  assert.ok(reading.kind === "run");
  await fillSource();
  const lines: string[] = [];
  const call = async (name: string, operands: string[], options: [string, string][] = []): Promise<unknown> => {
    lines.length = 0;
    const row = commandRows.find((each) => each.words === name);
    return row?.run({
      ...{ run: reading.run, version: "test", commands: commandRows, operands, options: new Map(options) },
      print: (line) => lines.push(line),
    });
  };

  assert.equal(await call("import vector", [larder.vector.url], [["sourceToken", "token-of-source"]]), 0);
  assert.equal(lines.length, 9);
  const [, digest] = /in 8 namespaces, digest ([0-9a-f]{32})$/.exec(lines[8] ?? "") ?? [];
  assert.equal(await call("export vector", [join(folder, "kept.ndjson")]), 0);
  assert.ok(digest !== undefined && lines.at(-1)?.endsWith(digest));
  await assert.rejects(call("import vector", [larder.vector.url]), { message: /set LARDER_SOURCE_TOKEN to it$/ });
});
