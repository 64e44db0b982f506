/** The checks of a release, one row each. A check returns a sentence for each problem; none means that it passed. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { PACKAGE_NAME, readVersion } from "../../src/program/facts.ts";
import { checkVendored } from "../vendor.ts";
import { copiedSources, type Licensed, type Sbom } from "./artifacts.ts";
import { brokenLinks, unpublishedTargets } from "./links.ts";
import { versionPlaces, versionProblems } from "./versions.ts";

/** The made files that checks read. */
export interface Made {
  readonly tarball: string;
  /** The paths in the tarball, from the root of the package. */
  readonly packed: readonly string[];
  readonly sbom: Sbom;
  readonly licensed: readonly Licensed[];
}

interface Check {
  readonly name: string;
  readonly run: (made: Made) => readonly string[];
}

/** Licences whose conditions a copy of the text fulfils. */
const LICENCES = ["Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause"];

export const checks: readonly Check[] = [
  { name: "publint", run: ({ tarball }) => runTool("publint", ["--strict", tarball]) },
  {
    name: "types for all ways to resolve them (attw)",
    // larder is an ES module: CommonJS programs use import(), and node10 resolution predates `exports`.
    run: ({ tarball }) => runTool("attw", [tarball, "--profile", "esm-only", "--no-color", "--no-emoji"]),
  },
  { name: "the version in all places", run: ({ sbom }) => versionsOf(sbom) },
  {
    name: "links of the published pages",
    run: ({ packed }) => [...brokenLinks(pagesOf(packed)), ...unpublishedTargets(pagesOf(packed))],
  },
  { name: "licences of all parts", run: ({ licensed }) => licenceProblems(licensed) },
  { name: "files in vendor/, against the registry", run: vendorProblems },
  { name: "files that the image is built from", run: imageProblems },
  { name: "the version on npm", run: publishedProblems },
  { name: "the address of the repository, if it is known", run: () => repositoryProblems(readRepository()) },
];

/** `repository` of package.json: undefined until the repository has an address. */
export function readRepository(): unknown {
  return (JSON.parse(readFileSync("package.json", "utf8")) as { readonly repository?: unknown }).repository;
}

/** The form that provenance compares with the repository of the workflow. */
const REPOSITORY_URL = /^git\+https:\/\/[^/\s]+\/\S+\.git$/;

export function repositoryProblems(repository: unknown): readonly string[] {
  if (repository === undefined) return [];
  const { type, url } = (repository ?? {}) as { readonly type?: unknown; readonly url?: unknown };
  if (type === "git" && typeof url === "string" && REPOSITORY_URL.test(url)) return [];
  return ['repository in package.json must be { "type": "git", "url": "git+https://….git" }'];
}

function runTool(name: string, words: readonly string[]): readonly string[] {
  const { status, stdout, stderr } = spawnSync(`node_modules/.bin/${name}`, words, { encoding: "utf8" });
  return status === 0 ? [] : [`${name} failed:\n${stdout}${stderr}`];
}

function versionsOf({ metadata: { component } }: Sbom): readonly string[] {
  return versionProblems([...versionPlaces(), { place: "the SBOM", version: component.version }], readVersion());
}

/** The Markdown pages among `paths` that `files` of package.json publishes: what it names, without what it names after `!`. */
export function publishedPages(paths: readonly string[], files: readonly string[]): readonly string[] {
  const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
  const isNamed = (path: string, names: readonly string[]): boolean => names.some((name) => isBelow(path, name));
  const left = files.flatMap((name) => (name.startsWith("!") ? [name.slice(1)] : []));
  return pagesOf(paths).filter((path) => isNamed(path, files) && !isNamed(path, left));
}

/** The Markdown pages among the paths of a package. */
export function pagesOf(packed: readonly string[]): readonly string[] {
  return packed.filter((path) => path.endsWith(".md"));
}

export function licenceProblems(licensed: readonly Licensed[]): readonly string[] {
  return licensed.flatMap(({ name, licence, text }) => [
    ...(LICENCES.includes(licence)
      ? []
      : [`${name} has the licence ${licence}, which is not one of ${LICENCES.join(", ")}`]),
    ...(text === undefined ? [`${name} has no file with its licence`] : []),
  ]);
}

function vendorProblems(): readonly string[] {
  try {
    checkVendored();
    return [];
  } catch (fault) {
    return [fault instanceof Error ? fault.message : String(fault)];
  }
}

function imageProblems(): readonly string[] {
  return contextProblems(readFileSync("Dockerfile", "utf8"), readFileSync(".dockerignore", "utf8")).concat(
    copiedSources(readFileSync("Dockerfile", "utf8"))
      .filter((source) => !existsSync(source))
      .map((source) => `Dockerfile copies ${source}, which does not exist`),
  );
}

/** A sentence for each source of a Dockerfile that an ignore file with `*` does not let through. */
export function contextProblems(dockerfile: string, ignore: string): readonly string[] {
  const allowed = ignore.split("\n").flatMap((line) => (line.startsWith("!") ? [line.slice(1).trim()] : []));
  return copiedSources(dockerfile)
    .filter((source) => !allowed.some((path) => source === path || source.startsWith(`${path}/`)))
    .map((source) => `Dockerfile copies ${source}, which .dockerignore leaves out`);
}

/** A published version can never be replaced. */
function publishedProblems(): readonly string[] {
  const version = readVersion();
  return publishedVersions().includes(version)
    ? [`${PACKAGE_NAME} ${version} is on npm already: raise the version`]
    : [];
}

/** The versions on npm; none if the name is free. Throws if the registry does not answer. */
export function publishedVersions(): readonly string[] {
  const { stdout } = spawnSync("npm", ["view", PACKAGE_NAME, "versions", "--json"], { encoding: "utf8" });
  const answer = JSON.parse(stdout) as string | readonly string[] | { readonly error: { readonly code: string } };
  if (typeof answer === "string") return [answer];
  if (!("error" in answer)) return answer;
  if (answer.error.code === "E404") return [];
  throw new Error(`npm view ${PACKAGE_NAME} failed with ${answer.error.code}`);
}
