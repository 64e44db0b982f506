/** Makes the files of a release. Paths are from the root of the repository, which is the current directory. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_NAME } from "../../src/program/facts.ts";
import { type Origin, vendored } from "../vendor.ts";

const PACKED_BYTES_MAX = 64 * 1024 * 1024;

/** The tarball that is published on npm: `npm pack` builds first. Returns its path. */
export function makeTarball(folder: string): string {
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: PACKED_BYTES_MAX,
  });
  // The script that builds may print before the JSON.
  const [packed] = JSON.parse(output.slice(output.indexOf("[\n"))) as { readonly filename: string }[];
  if (packed === undefined) throw new Error("npm pack made no tarball");
  return join(folder, packed.filename);
}

/** The fields of a CycloneDX document that we read or change. */
export interface Sbom {
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly { readonly name: string }[];
}

/** The bill of materials in CycloneDX: the dependencies at run time and the files in `vendor/`. */
export function makeSbom(path: string, name: string): Sbom {
  const words = ["sbom", "--omit", "dev", "--sbom-format", "cyclonedx", "--package-lock-only"];
  const output = execFileSync("npm", words, { encoding: "utf8", maxBuffer: PACKED_BYTES_MAX });
  const origins = vendored().map(({ origin }) => origin);
  const sbom = completeSbom(JSON.parse(output) as Sbom, { name, origins });
  writeFileSync(path, `${JSON.stringify(sbom, undefined, 2)}\n`);
  return sbom;
}

/** npm names the package after its folder, and does not know the files in `vendor/`. */
export function completeSbom(sbom: Sbom, { name, origins }: { name: string; origins: readonly Origin[] }): Sbom {
  return {
    ...sbom,
    metadata: { ...sbom.metadata, component: { ...sbom.metadata.component, name } },
    components: [...sbom.components, ...origins.map(vendoredComponent)],
  };
}

function vendoredComponent(origin: Origin): Sbom["components"][number] & Readonly<Record<string, unknown>> {
  return {
    type: "file",
    "bom-ref": origin.file,
    name: origin.file,
    hashes: [{ alg: "SHA-256", content: origin.sha256 }],
    pedigree: { ancestors: [packageComponent(origin.package)] },
    licenses: [{ license: { id: origin.licence } }],
  };
}

function packageComponent(nameAndVersion: string): object {
  const at = nameAndVersion.lastIndexOf("@");
  const [name, version] = [nameAndVersion.slice(0, at), nameAndVersion.slice(at + 1)];
  return { type: "library", name, version, purl: `pkg:npm/${name.replace("@", "%40")}@${version}` };
}

/** One part of what users install, and its licence. */
export interface Licensed {
  readonly name: string;
  /** As SPDX names it. */
  readonly licence: string;
  /** Undefined: the package has no such file. */
  readonly text: string | undefined;
}

/** The packages at run time, from the lock file, and the files in `vendor/`. */
export function licensedParts(): readonly Licensed[] {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true; readonly version?: string }>>;
  };
  const own = { name: PACKAGE_NAME, licence: licenceIn("package.json"), text: licenceText(".") };
  const installed = Object.entries(packages)
    .filter(([path, { dev }]) => path !== "" && dev !== true)
    .map(([path, { version }]) => ({
      name: `${path.replace("node_modules/", "")} ${version}`,
      licence: licenceIn(join(path, "package.json")),
      text: licenceText(path),
    }));
  // The files of a folder are from one package, under one licence.
  const files = [...Map.groupBy(vendored(), ({ folder }) => folder)].flatMap(([folder, [first, ...others]]) => {
    if (first === undefined) return [];
    const names = [first, ...others].map(({ origin }) => origin.file).join(", ");
    return {
      name: `${names}, from ${first.origin.package}`,
      licence: first.origin.licence,
      text: licenceText(folder),
    };
  });
  return [own, ...installed, ...files];
}

function licenceIn(packageFile: string): string {
  return (JSON.parse(readFileSync(packageFile, "utf8")) as { readonly license?: string }).license ?? "none";
}

function licenceText(folder: string): string | undefined {
  const name = readdirSync(folder).find((each) => /^licen[cs]e(?:\.md|\.txt)?$/i.test(each));
  return name === undefined ? undefined : readFileSync(join(folder, name), "utf8");
}

/** The licences of all that users install, in one text. */
export function makeLicences(path: string, parts: readonly Licensed[]): void {
  const line = "=".repeat(80);
  writeFileSync(
    path,
    parts.map(({ name, licence, text }) => `${line}\n${name} (${licence})\n${line}\n\n${text}`).join("\n"),
  );
}

/** What `docker build` reads: the files that the Dockerfile copies from the commit, and the Dockerfile. */
export function makeImageContext(path: string): void {
  const sources = copiedSources(readFileSync("Dockerfile", "utf8"));
  archive(path, ["Dockerfile", ".dockerignore", ...sources]);
}

/** The files and folders that a Dockerfile copies from its context. */
export function copiedSources(dockerfile: string): readonly string[] {
  const copies = dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm);
  const sources = Array.from(copies, ([, words = ""]) => words.trim().split(/\s+/).slice(0, -1)).flat();
  return [...new Set(sources.map((source) => source.replace(/^\.\//, "")))].sort();
}

/** The compose file, the dashboard and the alert rules. */
export function makeDeployFiles(path: string): void {
  archive(path, ["compose.yaml", "deploy"]);
}

function archive(path: string, sources: readonly string[]): void {
  execFileSync("git", ["archive", "--format=tar.gz", `--output=${path}`, "HEAD", "--", ...sources]);
}

/** `SHA256SUMS` of all files of a folder, as `sha256sum --check` reads it. */
export function makeChecksums(folder: string): void {
  const path = join(folder, "SHA256SUMS");
  if (existsSync(path)) throw new Error(`${path} exists`);
  const names = readdirSync(folder)
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
  const lines = names.map((name) => {
    const sum = createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
    return `${sum}  ${name}\n`;
  });
  writeFileSync(path, lines.join(""));
}
