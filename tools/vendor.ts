/**
 * Files of other projects in `vendor/`: each folder has the files, their licence and a README whose tables say where the
 * files are from. Both commands need the npm registry.
 *
 *     npm run vendor -- --check      compares the files with the packages that they are from
 *     npm run vendor                 replaces the files with those of the packages
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const vendorFolder = fileURLToPath(new URL("../vendor", import.meta.url));

/** A file, and where it is from. */
export interface Origin {
  /** The name of the file in its folder. */
  readonly file: string;
  /** In hexadecimal. */
  readonly sha256: string;
  /** `name@version`. */
  readonly package: string;
  /** The registry's hash of the whole package. */
  readonly integrity: string;
  /** The path of the file in the package. */
  readonly path: string;
  /** As SPDX names it. */
  readonly licence: string;
}

/**
 * The origins in the tables of a README: one for each row of a table with the columns file, path and sha256, or a single
 * one with rows of these names. Throws if a row is missing.
 */
export function parseOrigins(readme: string): Origin[] {
  const rows = new Map(
    Array.from(readme.matchAll(/^\| (\w+) \| `([^`]+)` \|$/gm), ([, key = "", value = ""]) => [key, value]),
  );
  const get = (key: string): string => {
    const value = rows.get(key);
    if (value === undefined) throw new Error(`The table has no row ${key}`);
    return value;
  };
  const files = Array.from(
    readme.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$/gm),
    ([, file = "", path = "", sha256 = ""]) => ({ file, path, sha256 }),
  );
  if (files.length === 0) files.push({ file: get("file"), path: get("path"), sha256: get("sha256") });
  return files.map((file) => ({
    ...file,
    package: get("package"),
    integrity: get("integrity"),
    licence: get("licence"),
  }));
}

/** The files of `vendor/`: the folder of each, and its origin. */
export function vendored(): { readonly folder: string; readonly origin: Origin }[] {
  return readdirSync(vendorFolder).flatMap((name) => {
    const folder = join(vendorFolder, name);
    return parseOrigins(readFileSync(join(folder, "README.md"), "utf8")).map((origin) => ({ folder, origin }));
  });
}

/** The SHA-256 of a file, in hexadecimal. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A file in `vendor/`, and the bytes that the registry's package has for it. */
interface Original {
  readonly path: string;
  readonly origin: Origin;
  readonly bytes: Buffer;
}

/** The files from the registry's packages. Throws unless the packages and the files have the hashes of the tables. */
function fetchOriginals(): Original[] {
  const byPackage = Map.groupBy(vendored(), ({ origin }) => origin.package);
  return [...byPackage.values()].flatMap((files) => {
    const temporary = mkdtempSync(join(tmpdir(), "larder-vendor-"));
    try {
      return files.map(({ folder, origin }, index) => {
        if (index === 0) fetchPackage(origin, temporary);
        return { path: join(folder, origin.file), origin, bytes: readPacked(origin, temporary) };
      });
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  });
}

const TARBALL = "package.tgz";

function fetchPackage(origin: Origin, folder: string): void {
  const output = execFileSync("npm", ["pack", origin.package, "--json", "--pack-destination", folder], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [packed] = JSON.parse(output) as { filename: string; integrity: string }[];
  if (packed?.integrity !== origin.integrity)
    throw new Error(`${origin.package} has the integrity ${packed?.integrity}, and the table has ${origin.integrity}`);
  renameSync(join(folder, packed.filename), join(folder, TARBALL));
}

function readPacked(origin: Origin, folder: string): Buffer {
  const tarball = join(folder, TARBALL);
  const bytes = execFileSync("tar", ["-xzOf", tarball, `package/${origin.path}`], { maxBuffer: FILE_BYTES_MAX });
  const sha256 = sha256Of(bytes);
  if (sha256 !== origin.sha256)
    throw new Error(
      `${origin.path} of ${origin.package} has the SHA-256 ${sha256}, and the table has ${origin.sha256}`,
    );
  return bytes;
}

const FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Compares all files with their packages. Throws at the first difference. */
export function checkVendored(): void {
  for (const { path, origin, bytes } of fetchOriginals()) {
    if (!bytes.equals(readFileSync(path))) throw new Error(`${path} differs from ${origin.path} of ${origin.package}`);
    console.log(`${origin.file} is ${origin.path} of ${origin.package}`);
  }
}

function replaceVendored(): void {
  for (const { path, origin, bytes } of fetchOriginals()) {
    writeFileSync(path, bytes);
    console.log(`wrote ${origin.file} from ${origin.package}`);
  }
}

if (import.meta.main) {
  if (process.argv.includes("--check")) checkVendored();
  else replaceVendored();
}
