/**
 * Packages of others read what larder writes for them: Redocly lints the OpenAPI documents, `openapi-typescript` makes types
 * of them, which compile, the models of Kubernetes validate the manifests of `deploy/kubernetes/`, and the module for
 * Testcontainers compiles. They are too large to be dependencies (130 MB), so they are installed in a folder of their own.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { areaDocument, describedAreas } from "../../src/edge/openapi/area-documents.ts";
import { readVersion } from "../../src/program/facts.ts";
import { objectsIn } from "../../test/harness/chart.ts";

const PACKAGES = [
  "@redocly/cli@2.77.0",
  "openapi-typescript@7.13.0",
  "kubernetes-models@5.1.0",
  "testcontainers@12.2.0",
];
const CONTAINER = "larder-container.ts";
const MANIFESTS = ["single", "cluster"];
/** Neither asks its makers anything. */
const SILENT = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

/** Writes the types of the documents beside them. */
const MAKE_TYPES = `import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
for (const name of process.argv.slice(2))
  writeFileSync(name + ".ts", astToString(await openapiTS(readFileSync(name + ".json", "utf8"))));
`;

interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The classes of a module of `kubernetes-models`, by kind. */
type Models = Readonly<Record<string, new (object: unknown) => { validate(): void }>>;

/** Throws what the first of them complains of. `npm` runs npm in a folder. */
export async function tryOutsideChecks(
  parent: string,
  npm: (cwd: string, ...words: readonly string[]) => unknown,
): Promise<void> {
  const folder = join(parent, "outside-checks");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  npm(folder, "install", "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES);
  checkDocuments(folder);
  console.log("the OpenAPI documents have no error, and their types compile");
  await checkManifests(folder);
  console.log("the manifests are valid objects of Kubernetes");
  copyFileSync(`deploy/testcontainers/${CONTAINER}`, join(folder, CONTAINER));
  // The types that the packages bring are not ours to check.
  compile(folder, "--skipLibCheck", "--types", "node", "--typeRoots", resolve("node_modules/@types"), CONTAINER);
  console.log("the module for Testcontainers compiles");
}

function checkDocuments(folder: string): void {
  const names = Object.keys(describedAreas) as (keyof typeof describedAreas)[];
  for (const name of names) writeFileSync(join(folder, `${name}.json`), areaDocument(name, readVersion()));
  writeFileSync(join(folder, "make-types.js"), MAKE_TYPES);
  const documents = names.map((name) => `${name}.json`);
  run(folder, join(folder, "node_modules/.bin/redocly"), "lint", "--extends", "recommended", ...documents);
  run(folder, process.execPath, "make-types.js", ...names);
  compile(folder, "--types", "", ...names.map((name) => `${name}.ts`));
}

function compile(folder: string, ...words: readonly string[]): void {
  run(folder, "tsc", "--strict", "--noEmit", "--target", "es2024", "--module", "nodenext", ...words);
}

function run(cwd: string, program: string, ...words: readonly string[]): void {
  const options = { cwd, env: { ...process.env, ...SILENT }, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(program, words, options);
  assert.equal(status, 0, [program, ...words, stdout, stderr].join("\n"));
}

async function checkManifests(folder: string): Promise<void> {
  for (const name of MANIFESTS) {
    const path = `deploy/kubernetes/${name}.yaml`;
    for (const object of objectsIn(readFileSync(path, "utf8")) as readonly KubernetesObject[]) {
      const { apiVersion, kind } = object;
      const module = join(folder, "node_modules/kubernetes-models", apiVersion, `${kind}.js`);
      const { [kind]: Model } = (await import(pathToFileURL(module).href)) as Models;
      assert.ok(Model !== undefined, `${path}: kubernetes-models has no ${kind}`);
      try {
        new Model(object).validate();
      } catch (cause) {
        throw new Error(`${path}: the ${kind} is not valid`, { cause });
      }
    }
  }
}
