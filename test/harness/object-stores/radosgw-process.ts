/**
 * The object gateway of Ceph with a cluster of its own: one monitor and one OSD in memory, on loopback, with keys of
 * its own, because the gateway does not start without keys.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { ServerProcesses, STORE_DOMAIN, type StoreServer } from "./server-process.ts";

const KEY = "larder";
const SECRET = "larder-secret";
/** The id of a key with which it encrypts objects. */
export const RADOSGW_KMS_KEY = "larder-key";

/** Starts it in about 15 s, without a bucket. */
export async function startRadosgw(): Promise<StoreServer> {
  const directory = mkdtempSync(join(tmpdir(), "larder-ceph-"));
  const [monitorPort, port] = [await freePort(), await freePort()];
  const cluster = randomUUID();
  const disk = randomUUID();
  const configuration = join(directory, "ceph.conf");
  const keyring = join(directory, "keyring");
  const monitorMap = join(directory, "monmap");
  for (const name of ["mon", "osd", "rgw"]) mkdirSync(join(directory, name));
  const settings = {
    fsid: cluster,
    "mon host": `[v2:127.0.0.1:${monitorPort}]`,
    "public addr": "127.0.0.1",
    "ms bind ipv6": false,
    keyring,
    "run dir": directory,
    "admin socket": `${directory}/$name.asok`,
    "log file": `${directory}/$name.log`,
    "mon data": `${directory}/mon`,
    "osd data": `${directory}/osd`,
    "rgw data": `${directory}/rgw`,
    "osd objectstore": "memstore",
    "memstore device bytes": 1024 ** 3,
    // One copy on one disk.
    "osd pool default size": 1,
    "osd pool default min size": 1,
    "osd pool default pg num": 1,
    "osd pool default pgp num": 1,
    "osd pool default pg autoscale mode": "off",
    "osd crush chooseleaf type": 0,
    "mon allow pool size one": true,
    "mon max pg per osd": 1_000,
    "rgw dns name": STORE_DOMAIN,
    "rgw crypt require ssl": "false",
    "rgw crypt s3 kms backend": "testing",
    "rgw crypt s3 kms encryption keys": `${RADOSGW_KMS_KEY}=${Buffer.alloc(32, 7).toString("base64")}`,
    // The disk of the machine is not used.
    "mon data avail crit": 0,
    "mon data avail warn": 0,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(configuration, `[global]\n${lines.join("\n")}\n`);
  const processes = new ServerProcesses(directory, { CEPH_CONF: configuration });
  const stop = async (): Promise<void> => {
    await processes.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await processes.run("ceph-authtool", [
      "--create-keyring",
      keyring,
      "--gen-key",
      "-n",
      "mon.",
      "--cap",
      "mon",
      "allow *",
    ]);
    for (const name of ["client.admin", "client.rgw", "osd.0"])
      await processes.run("ceph-authtool", [
        keyring,
        "--gen-key",
        "-n",
        name,
        "--cap",
        "mon",
        "allow *",
        "--cap",
        "osd",
        "allow *",
      ]);
    const address = `[v2:127.0.0.1:${monitorPort}]`;
    await processes.run("monmaptool", ["--create", "--fsid", cluster, "--addv", "a", address, monitorMap]);
    await processes.run("ceph-mon", ["--mkfs", "-i", "a", "--monmap", monitorMap, "--keyring", keyring]);
    processes.start("ceph-mon", ["-i", "a", "-f"]);
    await processes.listening(monitorPort);
    await processes.run("ceph", ["osd", "new", disk]);
    await processes.run("ceph-osd", ["-i", "0", "--mkfs", "--osd-uuid", disk]);
    processes.start("ceph-osd", ["-i", "0", "-f"]);
    await processes.run("ceph", ["osd", "crush", "add", "osd.0", "1.0", "root=default", "host=here"]);
    const user = ["--uid=larder", "--display-name=larder", `--access-key=${KEY}`, `--secret-key=${SECRET}`];
    await processes.run("radosgw-admin", ["user", "create", ...user]);
    processes.start("radosgw", ["-f", "-n", "client.rgw", `--rgw_frontends=beast endpoint=127.0.0.1:${port}`]);
    await processes.listening(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    query: `?endpoint=http://127.0.0.1:${port}`,
    credentials: { AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: SECRET },
    stop,
  };
}
