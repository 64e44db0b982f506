/** The programs and the requests with curl in the pages for users, as readers run them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { type Larder, start } from "../../src/mod.ts";
import { freePort } from "../harness/free-port.ts";
import { linesOf, type PageLine } from "../harness/page-lines.ts";
import { isProgram, runPageProgram } from "../harness/page-programs.ts";
import { pagesForUsers, snippetsOf } from "../harness/page-snippets.ts";
import { missingProgram } from "../harness/required-programs.ts";

let larder: Larder;
before(async () => {
  larder = await start({ respPort: await freePort() });
});
after(() => larder?.stop());

const snippets = pagesForUsers().flatMap((page) => snippetsOf(page));

for (const snippet of snippets.filter(isProgram)) {
  test(`${snippet.page}:${snippet.line}: the program runs and prints what the page says`, (context) =>
    runPageProgram(snippet, larder, context));
}

for (const line of snippets.flatMap(linesOf).filter(({ words }) => words[0] === "curl")) {
  const { page, line: number, notRun } = line.snippet;
  const skip = missingProgram("curl");
  if (notRun === undefined)
    test(`${page}:${number}: ${line.words.slice(1, 3).join(" ")} is answered`, { skip }, () => request(line));
}

/** Sends the request of a line, and fails as the page would. A stream is over with its first bytes. */
async function request({ text, words }: PageLine): Promise<void> {
  const { store, messaging, vector, admin, env } = larder;
  const urls = { 8079: store.url, 8080: messaging.url, 8081: vector.url, 8082: admin.url };
  const command = Object.entries(urls).reduce(
    (line, [port, url]) => line.replaceAll(`http://127.0.0.1:${port}`, url),
    text.replace(/^curl/, "exec curl --fail-with-body --silent --show-error --max-time 30"),
  );
  const child = spawn("bash", ["-c", command], { env: { ...process.env, ...env, ADMIN: admin.token } });
  let output = "";
  let complaint = "";
  child.stderr.on("data", (bytes) => {
    complaint += bytes;
  });
  child.stdout.on("data", (bytes) => {
    output += bytes;
    if (words.includes("-N")) child.kill();
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  assert.deepEqual(
    { code, signal },
    words.includes("-N") ? { code: null, signal: "SIGTERM" } : { code: 0, signal: null },
    `${command}\n${output}${complaint}`,
  );
}
