/**
 * Programs and data that tests need and that the project does not include: real
 * servers and their command lines, shells, vocabularies. A test that needs a missing one is
 * skipped, except for the programs that `LARDER_REQUIRE` names, separated by
 * commas (`redis-server,redis-cli`): there a skipped comparison would be a
 * silent failure, so the test file fails instead.
 */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const requirable = [
  "redis-server",
  "redis-cli",
  "nginx",
  "postgres",
  "patroni",
  "etcd",
  "haproxy",
  "caddy",
  "docker-compose",
  "systemd-analyze",
  "radosgw",
  "swift-proxy-server",
  "moto",
  "chromium",
  "curl",
  "bash",
  "zsh",
  "fish",
  "snowball-data",
] as const;

/** Where Debian keeps the programs of each version of PostgreSQL, and not on the PATH. */
export const DEBIAN_POSTGRES = "/usr/lib/postgresql";
/** Where Debian's package snowball-data has words with their stems. */
export const SNOWBALL_DATA = "/usr/share/snowball/data";
/** Where Debian has the server of moto. Another one on the PATH may be one of another Python. */
export const MOTO_SERVER = "/usr/bin/moto_server";

const places: ReadonlyMap<string, string> = new Map([
  ["postgres", DEBIAN_POSTGRES],
  ["snowball-data", SNOWBALL_DATA],
  ["moto", MOTO_SERVER],
]);

export type RequirableProgram = (typeof requirable)[number];

/** Why tests with a program cannot run here, or false; for the `skip` option of `test`. Throws if it is required. */
export function missingProgram(
  name: RequirableProgram,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | false {
  const required = (environment["LARDER_REQUIRE"] ?? "").split(",").filter((each) => each !== "");
  const unknown = required.find((each) => !requirable.some((known) => known === each));
  if (unknown !== undefined)
    throw new Error(`LARDER_REQUIRE names ${unknown}, which no test uses; known: ${requirable.join(", ")}`);
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const isThere = folders.some((folder) => existsSync(join(folder, name)));
  if (isThere || existsSync(places.get(name) ?? "")) return false;
  if (required.includes(name)) throw new Error(`LARDER_REQUIRE names ${name}, which is not on the PATH`);
  return `${name} is not on the PATH`;
}
