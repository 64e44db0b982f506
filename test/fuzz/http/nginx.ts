/**
 * A real nginx as a reverse proxy, in a folder of its own and over sockets of the file system, so that no port can be
 * taken. It marks each request that it passes on with an id that no stream can contain.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const frontNames = ["streaming", "buffering"] as const;
/**
 * `streaming` passes bodies on as they come, over connections that it uses again. `buffering` reads a body first, and
 * opens a connection for each request.
 */
export type FrontName = (typeof frontNames)[number];

/** The field that nginx adds to each request. */
export const ID_FIELD = "X-Front-Id";

export class Nginx implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "larder-nginx-"));
  /** Where the server behind nginx listens. */
  readonly upstreamPath = join(this.folder, "upstream.sock");
  #process: ChildProcess | undefined;

  /** Starts it. The server behind it need not listen yet. */
  async start(): Promise<void> {
    const configuration = join(this.folder, "nginx.conf");
    writeFileSync(configuration, configurationOf(this.folder, this.upstreamPath));
    const child = spawn("nginx", ["-p", this.folder, "-c", configuration, "-e", "stderr"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    let log = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr.on("data", (chunk: Buffer) => {
        log += chunk.latin1Slice();
        // The last line of a start, when it listens.
        if (log.includes("getrlimit")) resolve();
      });
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`nginx ended with ${code}: ${log}`)));
    });
  }

  /** Sends a stream and the end of it. Resolves with all received bytes. */
  send(front: FrontName, bytes: Buffer): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect({ path: join(this.folder, `${front}.sock`), allowHalfOpen: true });
      let received = "";
      socket.on("data", (chunk: Buffer) => {
        received += chunk.latin1Slice();
      });
      socket.on("end", () => socket.destroy());
      // A reset after a refusal is an ordinary end.
      socket.on("error", () => {});
      socket.on("close", () => resolve(received));
      socket.end(bytes);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#process;
    if (child !== undefined && child.exitCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function configurationOf(folder: string, upstreamPath: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((each) => `  ${each}_temp_path ${folder}/${each};`)
    .join("\n");
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr notice;
events { worker_connections 512; }
http {
${temporary}
  access_log off;
  lingering_close off;
  client_max_body_size 0;
  proxy_ignore_client_abort on;
  upstream kept {
    server unix:${upstreamPath};
    keepalive 16;
  }
  server {
    listen unix:${folder}/streaming.sock;
    proxy_http_version 1.1;
    proxy_set_header ${ID_FIELD} $request_id;
    proxy_set_header Connection "";
    proxy_request_buffering off;
    location / { proxy_pass http://kept; }
  }
  server {
    listen unix:${folder}/buffering.sock;
    proxy_set_header ${ID_FIELD} $request_id;
    proxy_request_buffering on;
    location / { proxy_pass http://unix:${upstreamPath}:; }
  }
}
`;
}
