/**
 * Files of other projects in `vendor/`: each folder has the file, its licence and a README whose table says where the
 * file is from. Both commands need the npm registry.
 *
 *     npm run vendor -- --check      compares the files with the packages that they are from
 *     npm run vendor                 replaces the files with those of the packages
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

/** The origin in the table of a README. Throws if a row is missing. */
export function parseOrigin(readme: string): Origin {
  const rows = new Map(
    Array.from(readme.matchAll(/^\| (\w+) \| `([^`]+)` \|$/gm), ([, key = "", value = ""]) => [key, value]),
  );
  const get = (key: string): string => {
    const value = rows.get(key);
    if (value === undefined) throw new Error(`The table has no row ${key}`);
    return value;
  };
  return {
    file: get("file"),
    sha256: get("sha256"),
    package: get("package"),
    integrity: get("integrity"),
    path: get("path"),
    licence: get("licence"),
  };
}

/** The folders of `vendor/`, with their origins. */
export function vendored(): { readonly folder: string; readonly origin: Origin }[] {
  return readdirSync(vendorFolder).map((name) => {
    const folder = join(vendorFolder, name);
    return { folder, origin: parseOrigin(readFileSync(join(folder, "README.md"), "utf8")) };
  });
}

/** The SHA-256 of a file, in hexadecimal. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The file from the registry's package. Throws unless the package and the file have the hashes of the table. */
function fetchOriginal(origin: Origin): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "larder-vendor-"));
  try {
    const output = execFileSync("npm", ["pack", origin.package, "--json", "--pack-destination", folder], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [packed] = JSON.parse(output) as { filename: string; integrity: string }[];
    if (packed?.integrity !== origin.integrity)
      throw new Error(
        `${origin.package} has the integrity ${packed?.integrity}, and the table has ${origin.integrity}`,
      );
    const tarball = join(folder, packed.filename);
    const bytes = execFileSync("tar", ["-xzOf", tarball, `package/${origin.path}`], { maxBuffer: FILE_BYTES_MAX });
    const sha256 = sha256Of(bytes);
    if (sha256 !== origin.sha256)
      throw new Error(
        `${origin.path} of ${origin.package} has the SHA-256 ${sha256}, and the table has ${origin.sha256}`,
      );
    return bytes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Compares all files with their packages. Throws at the first difference. */
export function checkVendored(): void {
  for (const { folder, origin } of vendored()) {
    if (!fetchOriginal(origin).equals(readFileSync(join(folder, origin.file))))
      throw new Error(`${join(folder, origin.file)} differs from ${origin.path} of ${origin.package}`);
    console.log(`${origin.file} is ${origin.path} of ${origin.package}`);
  }
}

function replaceVendored(): void {
  for (const { folder, origin } of vendored()) {
    writeFileSync(join(folder, origin.file), fetchOriginal(origin));
    console.log(`wrote ${origin.file} from ${origin.package}`);
  }
}

if (import.meta.main) {
  if (process.argv.includes("--check")) checkVendored();
  else replaceVendored();
}
