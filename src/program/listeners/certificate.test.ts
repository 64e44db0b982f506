/** TLS of a listener with a certificate in files, and its renewal, with a virtual clock. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectInClear } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { localCertificates } from "../../../test/harness/local-certificates.ts";
import type { HttpService } from "../../edge/handler.ts";
import type { CertificatePair } from "../../edge/http/transport.ts";
import { ByteBudget } from "../../edge/limits/byte-budget.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { silentLog } from "../../kernel/log.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { StartRefusal } from "../refusal.ts";
import { CERTIFICATE_LOOK_MS, readCertificate } from "./certificate.ts";
import { measureListeners, openListener } from "./listener.ts";

const [first, second] = localCertificates;
const area: HttpService = {
  bodyBytesMax: () => 100,
  handle: () => ({ status: 200, headers: [], body: "answer" }),
};

interface Files {
  readonly certificate: { readonly path: string; readonly place: string };
  readonly key: { readonly path: string; readonly place: string };
  write(pair: Partial<CertificatePair>): void;
}

function files(context: TestContext): Files {
  const directory = mkdtempSync(join(tmpdir(), "larder-tls-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const certificate = { path: join(directory, "cert.pem"), place: "--tls-cert" };
  const key = { path: join(directory, "key.pem"), place: "--tls-key" };
  return {
    certificate,
    key,
    write(pair) {
      if (pair.certificate !== undefined) writeFileSync(certificate.path, pair.certificate);
      if (pair.key !== undefined) writeFileSync(key.path, pair.key);
    },
  };
}

/** A time when both certificates are valid. */
const NOW_MS = Date.UTC(2030, 0, 1);

async function open(context: TestContext, startMs = NOW_MS) {
  const clock = new VirtualClock(startMs);
  const metrics = new Metrics();
  const named = files(context);
  named.write(first);
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
  const tls = { certificate: named.certificate, key: named.key };
  const listener = await openListener(
    area,
    {
      listen: { host: "127.0.0.1", port: 0, portPlace: "--port", hostPlace: "--host", tls },
      headerBytesMax: 10_000,
      name: "x",
      peers: { trustedProxies: [], connectionsPerAddressMax: undefined, bodyBytesPerSecondMin: undefined },
    },
    { clock, log, budget: new ByteBudget(1_000_000), figures: measureListeners(metrics) },
  );
  return { listener, clock, named, warnings, metrics };
}

/** A connection that trusts both certificates. */
async function dial(port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connect({
    host: "127.0.0.1",
    port,
    ca: localCertificates.map(({ certificate }) => certificate),
    ...options,
  });
  await once(socket, "secureConnect");
  return socket.setEncoding("latin1");
}

async function ask(socket: TLSSocket): Promise<string> {
  const heard = once(socket, "data");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const [text] = (await heard) as [string];
  return text;
}

function nameOf(socket: TLSSocket): unknown {
  return socket.getPeerCertificate().subject.CN;
}

test("new connections get a renewed certificate, and open connections continue", async (context) => {
  const { listener, clock, named } = await open(context);
  const old = await dial(listener.port);
  assert.equal(nameOf(old), "larder test one");
  assert.match(await ask(old), /^HTTP\/1\.1 200 OK\r\n[\s\S]*answer$/);

  named.write(second);
  clock.advance(CERTIFICATE_LOOK_MS);

  const fresh = await dial(listener.port);
  assert.equal(nameOf(fresh), "larder test two");
  assert.match(await ask(old), /answer$/);
  old.destroy();
  fresh.destroy();
  await listener.close(0);
});

test("keeps the previous certificate until both files of a renewal are valid", async (context) => {
  const { listener, clock, named, warnings } = await open(context);
  const steps: readonly (readonly [written: Partial<CertificatePair>, name: string, warningCount: number])[] = [
    [{ certificate: second.certificate }, "larder test one", 1],
    [{ certificate: "-----BEGIN" }, "larder test one", 2],
    [{ certificate: "" }, "larder test one", 3],
    [{ key: "" }, "larder test one", 4],
    [second, "larder test two", 4],
  ];
  for (const [written, name, warningCount] of steps) {
    named.write(written);
    clock.advance(CERTIFICATE_LOOK_MS);
    clock.advance(CERTIFICATE_LOOK_MS);
    const socket = await dial(listener.port);
    assert.deepEqual([nameOf(socket), warnings.length], [name, warningCount]);
    socket.destroy();
  }
  await listener.close(0);
});

test("H.tls: refuses TLS 1.1 and plain connections, and an endless handshake does not delay a stop", async (context) => {
  const { listener, clock } = await open(context);
  await assert.rejects(dial(listener.port, { minVersion: "TLSv1", maxVersion: "TLSv1.1" }));
  const clear = connectInClear(listener.port, "127.0.0.1");
  clear.on("error", () => {});
  clear.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(clear, "close");
  const silent = connectInClear(listener.port, "127.0.0.1");
  silent.on("error", () => {});
  await once(silent, "connect");
  // After its answer, the server has accepted the silent connection too.
  const socket = await dial(listener.port);
  await ask(socket);
  socket.destroy();

  const closed = listener.close(100);
  clock.advance(100);
  await closed;
});

test("refuses a missing certificate and a missing key together", (context) => {
  const { certificate, key } = files(context);
  assert.throws(
    () => readCertificate({ certificate, key }),
    new StartRefusal(`--tls-cert: there is no file ${certificate.path}; --tls-key: there is no file ${key.path}`),
  );
});

test("refuses a certificate without its key, or an invalid one, and names the settings", (context) => {
  const named = files(context);
  named.write({ certificate: first.certificate });
  assert.throws(() => readCertificate(named), new StartRefusal(`--tls-key: there is no file ${named.key.path}`));
  named.write({ key: second.key });
  assert.throws(
    () => readCertificate(named),
    /^StartRefusal: --tls-cert and --tls-key: .* are not a PEM certificate and its key/,
  );
});

test("refuses an empty certificate, an empty key, and a key of another certificate", (context) => {
  const named = files(context);
  for (const [pair, reason] of [
    [{ certificate: "", key: first.key }, /there is no certificate in the file/],
    [{ certificate: first.certificate, key: "" }, /are not a PEM certificate and its key/],
    [{ certificate: first.certificate, key: second.key }, /they do not belong together/],
  ] as const) {
    named.write(pair);
    assert.throws(() => readCertificate(named), reason);
  }
});

test("warns about a certificate that has expired or is not valid yet, and its end is a metric", async (context) => {
  const early = await open(context, Date.UTC(2020, 0, 1));
  assert.deepEqual(early.warnings, ["a certificate is not valid yet"]);
  const ends = early.metrics.snapshot().find(({ name }) => name === "larder_certificate_expiry_timestamp_seconds");
  await early.listener.close(0);
  assert.deepEqual(ends?.series, [{ labelValues: ["x"], values: [Date.UTC(2126, 9, 29, 18, 59, 35) / 1_000] }]);

  const late = await open(context, Date.UTC(2126, 9, 29, 18, 59, 34));
  assert.deepEqual(late.warnings, []);
  late.clock.advance(CERTIFICATE_LOOK_MS);
  late.clock.advance(CERTIFICATE_LOOK_MS);
  assert.deepEqual(late.warnings, ["a certificate has expired: clients refuse it"]);
  await late.listener.close(0);
});
