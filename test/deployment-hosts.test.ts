/** The files of `deploy/` for proxies and for platforms, and the health check of the image. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { parse } from "yaml";
import { OPENAPI_PATH } from "../src/edge/openapi/area.ts";
import { readSettings } from "../src/program/settings/read-settings.ts";
import { freePort } from "./harness/free-port.ts";
import { localCertificates } from "./harness/local-certificates.ts";
import { missingProgram } from "./harness/required-programs.ts";

const NGINX = "deploy/nginx/larder.conf";
const CADDY = "deploy/caddy/Caddyfile";
const FLY = "deploy/fly/fly.toml";
const RAILWAY = "deploy/railway/railway.json";
const RENDER = "deploy/render/render.yaml";
const HEALTH = "deploy/image/health";

const read = (path: string): string => readFileSync(path, "utf8");

function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "larder-hosts-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Settings of a server that is started with these variables. */
function settingsOf(environment: Readonly<Record<string, string>>) {
  const image = { LARDER_HOST: "0.0.0.0", LARDER_DATA_DIR: "/data" };
  const reading = readSettings({ arguments: ["serve"], environment: { ...image, ...environment }, readFile: read });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  return reading.run.settings;
}

const defaults = settingsOf({});
/** A stop waits three times for the grace, and then writes and syncs. */
const STOP_SECONDS = (3 * defaults.shutdownGraceMs) / 1_000 + 15;
const AREAS = [
  ["store", defaults.storePort],
  ["messaging", defaults.messagingPort],
  ["vector", defaults.vectorPort],
] as const;

async function listen(context: TestContext, listener: RequestListener, path?: string): Promise<number> {
  const server = createServer(listener);
  context.after(async () => {
    const closed = once(server, "close");
    server.close().closeAllConnections();
    await closed;
  });
  if (path === undefined) server.listen(0, "127.0.0.1");
  else server.listen(path);
  await once(server, "listening");
  return path === undefined ? (server.address() as AddressInfo).port : 0;
}

test("the health check of the image succeeds if larder is ready, and only then", async (context) => {
  let status = 200;
  const asked: string[] = [];
  const port = await listen(context, ({ method, url, headers }, response) => {
    asked.push(`${method} ${url} ${headers.host}`);
    response.writeHead(status).end("{}");
  });
  const check = async (adminPort = port): Promise<number | null> => {
    const child = spawn(HEALTH, { env: { ...process.env, LARDER_ADMIN_PORT: String(adminPort) }, stdio: "ignore" });
    await once(child, "exit");
    return child.exitCode;
  };
  assert.equal(await check(), 0);
  status = 503;
  assert.equal(await check(), 1);
  assert.equal(await check(1), 1);
  assert.deepEqual(asked, Array(2).fill("GET /health/ready 127.0.0.1"));
  assert.equal(statSync(HEALTH).mode & 0o111, 0o111);
  assert.ok(read(HEALTH).includes(`\${LARDER_ADMIN_PORT:-${defaults.adminPort}}`));
  for (const path of ["Dockerfile", "deploy/cluster/compose.yaml"])
    assert.match(read(path), /(?:HEALTHCHECK .* CMD|test:) \[(?:"CMD", )?"\/app\/health"\]$/m, path);
});

/** larder.conf with a port, a certificate and upstreams of the test, in a whole configuration. */
function nginxConfiguration(folder: string, port: number): string {
  const [{ certificate, key }] = localCertificates;
  writeFileSync(join(folder, "fullchain.pem"), certificate);
  writeFileSync(join(folder, "privkey.pem"), key);
  const own = AREAS.reduce(
    (each, [area, areaPort]) => each.replace(`server 127.0.0.1:${areaPort};`, `server unix:${folder}/${area}.sock;`),
    read(NGINX)
      .replace(/^ {2}listen 443 ssl;$/m, `  listen 127.0.0.1:${port} ssl;`)
      .replace(/^ {2}listen \[::\]:443 ssl;\n/m, "")
      .replaceAll("/etc/letsencrypt/live/larder.example.com", folder),
  );
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (each) => `${each}_temp_path ${folder}/${each};`,
  );
  return `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr notice;
events { worker_connections 64; }
http { access_log off; ${temporary.join(" ")}
${own}
}
`;
}

async function startNginx(context: TestContext, folder: string, port: number): Promise<void> {
  const configuration = join(folder, "nginx.conf");
  writeFileSync(configuration, nginxConfiguration(folder, port));
  const words = ["-p", folder, "-c", configuration, "-e", "stderr"];
  const checked = spawnSync("nginx", [...words, "-t"], { encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stderr);
  assert.doesNotMatch(checked.stderr, /\[warn\]/);
  const child: ChildProcess = spawn("nginx", words, { stdio: ["ignore", "ignore", "pipe"] });
  context.after(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  });
  for await (const chunk of child.stderr ?? []) if (String(chunk).includes("getrlimit")) break;
}

test("nginx passes requests on unchanged by the name of their area, and events at once", {
  skip: missingProgram("nginx"),
}, async (context) => {
  const folder = temporaryFolder(context);
  for (const [area] of AREAS)
    await listen(
      context,
      ({ url, headers }, response) => {
        if (url === "/subscribe") response.write("data: first\n\n");
        else response.end([area, url, headers.host, headers["x-forwarded-for"]].join(" "));
      },
      join(folder, `${area}.sock`),
    );
  const port = await freePort();
  await startNginx(context, folder, port);
  const ask = async (host: string, path: string) => {
    const call = request({
      ...{ host: "127.0.0.1", port, path, agent: false, ca: localCertificates[0].certificate, servername: "localhost" },
      headers: { host, "x-forwarded-for": "203.0.113.9" },
    });
    call.end();
    const [response] = await once(call, "response");
    return response;
  };
  const publish = "/v2/publish/https://a.example//b%2Fc?x=1";
  for (const [area] of AREAS)
    assert.equal(
      await text(await ask(`${area}.example.com`, publish)),
      `${area} ${publish} ${area}.example.com 203.0.113.9, 127.0.0.1`,
    );
  // The response has no end, so a proxy that collects it would pass nothing on.
  const events = await ask("store.example.com", "/subscribe");
  const [first] = await once(events, "data");
  assert.equal(String(first), "data: first\n\n");
  events.destroy();
  const [, megabytes] = /^ {2}client_max_body_size (\d+)m;$/m.exec(read(NGINX)) ?? [];
  assert.ok(Number(megabytes) * 2 ** 20 > defaults.requestBytesMax);
});

test("Caddy reads the Caddyfile, which has the port of each area", { skip: missingProgram("caddy") }, (context) => {
  const env = { ...process.env, HOME: temporaryFolder(context) };
  const words = ["validate", "--adapter", "caddyfile", "--config", CADDY];
  const { status, stderr } = spawnSync("caddy", words, { encoding: "utf8", env });
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /"level":"(?:warn|error)"/);
  const [adapted] = Object.values(
    JSON.parse(spawnSync("caddy", ["adapt", "--config", CADDY], { encoding: "utf8", env }).stdout).apps.http.servers,
  );
  for (const [area, port] of AREAS) {
    const routes = (adapted as { routes: readonly object[] }).routes.map((each) => JSON.stringify(each));
    const route = routes.find((each) => each.includes(`"${area}.example.com"`)) ?? "";
    for (const part of [
      `"dial":"127.0.0.1:${port}"`,
      '"flush_interval":-1',
      '"keep_alive":{"enabled":false}',
      '"max_size":11000000',
    ])
      assert.ok(route.includes(part), `${area}: ${part}`);
  }
  assert.ok(11_000_000 > defaults.requestBytesMax);
});

test("Fly runs one machine with a volume, its proxy at the port of larder, and a check", () => {
  const file = parseToml(read(FLY));
  const environment = Object.fromEntries(
    Array.from(file, ([key, value]) => [/^env (\w+)$/.exec(key)?.[1], String(value)]).filter(([key]) => key),
  );
  const settings = settingsOf(environment);
  assert.equal(file.get("http_service internal_port"), settings.port);
  assert.equal(file.get("http_service auto_stop_machines"), "off");
  assert.equal(file.get("mounts destination"), settings.dataDirectory);
  assert.equal(file.get("http_service.checks path"), `/store${OPENAPI_PATH}`);
  assert.deepEqual([file.get(" kill_signal"), file.get(" kill_timeout")], ["SIGTERM", STOP_SECONDS]);
});

/** The values of a file whose values are each on a line and valid JSON too, by section and key. */
function parseToml(toml: string): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  let section = "";
  for (const line of toml.split("\n").map((each) => each.trim())) {
    const [, name, key, value = ""] = /^(?:\[\[?([\w.]+)\]\]?|([\w.]+) = (.+))$/.exec(line) ?? [];
    if (name !== undefined) section = name;
    else if (key !== undefined) found.set(`${section} ${key}`, JSON.parse(value));
    else assert.match(line, /^(?:#.*)?$/);
  }
  return found;
}

test("Railway and Render run one instance, and ask a path that needs no token", () => {
  const { build, deploy } = JSON.parse(read(RAILWAY));
  assert.deepEqual(build, { builder: "DOCKERFILE", dockerfilePath: "Dockerfile" });
  assert.partialDeepStrictEqual(deploy, {
    numReplicas: 1,
    healthcheckPath: `/store${OPENAPI_PATH}`,
    overlapSeconds: 0,
    drainingSeconds: STOP_SECONDS,
  });
  const [service, ...others] = parse(read(RENDER)).services;
  assert.deepEqual(others, []);
  assert.partialDeepStrictEqual(service, {
    ...{ type: "web", runtime: "docker", dockerfilePath: "./Dockerfile", numInstances: 1 },
    ...{ healthCheckPath: `/store${OPENAPI_PATH}`, maxShutdownDelaySeconds: STOP_SECONDS },
    disk: { mountPath: defaults.dataDirectory },
  });
  const variables: readonly { readonly key: string; readonly value?: string }[] = service.envVars;
  // Render generates 32 bytes as base64.
  const generated = Buffer.alloc(32).toString("base64");
  const settings = settingsOf(Object.fromEntries(variables.map(({ key, value }) => [key, value ?? generated])));
  assert.equal(settings.port, 8080);
  assert.ok(read("Dockerfile").includes("ARG RUN_AS="));
});

test("the list of deploy/ has every file", () => {
  const list = read("deploy/README.md");
  for (const entry of readdirSync("deploy", { withFileTypes: true })) {
    const names = entry.isDirectory()
      ? readdirSync(join("deploy", entry.name)).map((name) => `${entry.name}/${name}`)
      : [];
    for (const name of entry.isDirectory() ? names : [entry.name])
      assert.ok(name === "README.md" || list.includes(`](${name})`), `deploy/README.md does not have ${name}`);
  }
  assert.ok(existsSync("deploy/README.md"));
});
