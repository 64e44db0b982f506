/**
 * OpenStack Swift with its interface of S3: the proxy and the three servers of one device, on loopback. It reads
 * `/etc/swift/swift.conf` of the machine, which its package installs, and nothing else there.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { ServerProcesses, STORE_DOMAIN, type StoreServer } from "./server-process.ts";

const SECRET = "larder-secret";
const FILTERS = ["catch_errors", "gatekeeper", "memcache", "listing_formats", "bulk", "s3api", "tempauth", "slo"];
/** Beside `use`. */
const FILTER_SETTINGS: Readonly<Record<string, string>> = {
  // None: tokens are not used.
  memcache: "memcache_servers = 127.0.0.1:1",
  s3api: `location = us-east-1\nstorage_domain = ${STORE_DOMAIN}`,
  tempauth: `user_larder_larder = ${SECRET} .admin`,
};

/** Starts it in about 5 s, without a bucket. Its addresses need `conditional=no`. */
export async function startSwift(): Promise<StoreServer> {
  const directory = mkdtempSync(join(tmpdir(), "larder-swift-"));
  const devices = join(directory, "devices");
  mkdirSync(join(devices, "one"), { recursive: true });
  const processes = new ServerProcesses(directory);
  const stop = async (): Promise<void> => {
    await processes.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const settingsOn = (port: number): string =>
    `[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = ${port}\nswift_dir = ${directory}\nuser = ${userInfo().username}\nworkers = 0\n`;
  const port = await freePort();
  try {
    for (const kind of ["account", "container", "object"]) {
      const own = await freePort();
      const ring = join(directory, `${kind}.builder`);
      await processes.run("swift-ring-builder", [ring, "create", "2", "1", "1"]);
      await processes.run("swift-ring-builder", [ring, "add", `r1z1-127.0.0.1:${own}/one`, "1"]);
      await processes.run("swift-ring-builder", [ring, "rebalance"]);
      writeFileSync(
        join(directory, `${kind}.conf`),
        `${settingsOn(own)}devices = ${devices}\nmount_check = false\ndisable_fallocate = true\nfallocate_reserve = 0\n` +
          `[pipeline:main]\npipeline = ${kind}-server\n[app:${kind}-server]\nuse = egg:swift#${kind}\n`,
      );
      processes.start(`swift-${kind}-server`, [join(directory, `${kind}.conf`)]);
      await processes.listening(own);
    }
    const filters = FILTERS.map(
      (name) => `[filter:${name}]\nuse = egg:swift#${name}\n${FILTER_SETTINGS[name] ?? ""}\n`,
    );
    writeFileSync(
      join(directory, "proxy.conf"),
      `${settingsOn(port)}[pipeline:main]\npipeline = ${FILTERS.join(" ")} proxy-server\n` +
        `[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n${filters.join("")}`,
    );
    processes.start("swift-proxy-server", [join(directory, "proxy.conf")]);
    await processes.listening(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    query: `?endpoint=http://127.0.0.1:${port}`,
    credentials: { AWS_ACCESS_KEY_ID: "larder:larder", AWS_SECRET_ACCESS_KEY: SECRET },
    stop,
  };
}
