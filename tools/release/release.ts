/**
 * Makes everything that a release publishes in `release/`, and checks it. It publishes nothing: a person does that.
 * Needs the npm registry and takes about a minute.
 *
 *     npm run release -- --dry-run
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_NAME, readVersion } from "../../src/program/facts.ts";
import {
  licensedParts,
  makeChecksums,
  makeDeployFiles,
  makeImageContext,
  makeLicences,
  makeSbom,
  makeTarball,
} from "./artifacts.ts";
import { checks, type Made, pagesOf, publishedVersions, readRepository } from "./checks.ts";
import { linksOf } from "./links.ts";
import { isUnreleased } from "./versions.ts";

const FOLDER = "release";

if (import.meta.main) {
  process.chdir(fileURLToPath(new URL("../..", import.meta.url)));
  process.exitCode = runRelease(process.argv.slice(2));
}

/** Returns the exit code: 0, 1 (a check failed) or 2 (it publishes nothing). */
export function runRelease(words: readonly string[]): number {
  if (words.length === 1 && words[0] === "--dry-run") return dryRun();
  console.error(
    `A person publishes larder. Run npm run release -- --dry-run first; then:\n\n${listOf(stepsToPublish())}`,
  );
  return 2;
}

function dryRun(): number {
  const made = makeAll();
  let problemCount = 0;
  for (const { name, run } of checks) {
    const problems = run(made);
    problemCount += problems.length;
    console.log(`${problems.length === 0 ? "ok     " : "FAILED "} ${name}`);
    for (const problem of problems) console.log(`        ${problem.replaceAll("\n", "\n        ")}`);
  }
  console.log(`\nThe files are in ${FOLDER}/. Nothing was published.`);
  const open = openQuestions(made);
  if (open.length > 0) console.log(`\nBefore publishing:\n\n${listOf(open)}`);
  console.log(`\nTo publish:\n\n${listOf(stepsToPublish())}`);
  return problemCount === 0 ? 0 : 1;
}

function makeAll(): Made {
  const name = `${PACKAGE_NAME}-${readVersion()}`;
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const tarball = makeTarball(FOLDER);
  const list = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).trim().split("\n");
  const packed = list.map((path) => path.replace(/^package\//, ""));
  const sbom = makeSbom(join(FOLDER, `${name}.cdx.json`), PACKAGE_NAME);
  const licensed = licensedParts();
  makeLicences(join(FOLDER, `${name}-licences.txt`), licensed);
  makeImageContext(join(FOLDER, `${name}-image-context.tar.gz`));
  makeDeployFiles(join(FOLDER, `${name}-deploy.tar.gz`));
  makeChecksums(FOLDER);
  return { tarball, packed, sbom, licensed };
}

/** What the repository does not know yet, or a person must decide. */
function openQuestions({ packed }: Made): readonly string[] {
  const outside = pagesOf(packed)
    .flatMap(linksOf)
    .filter(({ target }) => !packed.some((path) => path === target || path.startsWith(`${target}/`)));
  const open: string[] = [];
  if (readRepository() === undefined)
    open.push(
      'Set the address of the repository in package.json: "repository": { "type": "git", "url": "git+https://….git" }. ' +
        `Provenance needs it, and so do ${outside.length} links of published pages to files that are only in the repository.`,
    );
  if (isUnreleased()) open.push('Replace "unreleased" in CHANGELOG.md with the date.');
  if (execFileSync("git", ["status", "--porcelain"], { encoding: "utf8" }) !== "")
    open.push("Commit the changes: the tarball has them, and the image context, which is from the commit, does not.");
  if (publishedVersions().length === 0)
    open.push(`${PACKAGE_NAME} is free on npm: the first publication makes its account the owner of the name.`);
  return open;
}

function stepsToPublish(): readonly string[] {
  const version = readVersion();
  const name = `${PACKAGE_NAME}-${version}`;
  return [
    "Decide who owns the name on npm: an account or an organization, with two-factor authentication for logins and " +
      "for publishing, and a second person who can reach it.",
    'Turn on "private vulnerability reporting" in the settings of the public repository: SECURITY.md refers to it.',
    `Tag the commit: git tag -s v${version}, and push it. All jobs of the workflow CI must have passed for it.`,
    `Publish the first version by hand: npm publish ${FOLDER}/${name}.tgz --access public. npm asks for the second factor.`,
    "Then register the repository and its workflow as trusted publisher on the page of the package at npm, and disallow " +
      "tokens. From then on, publish with provenance from a workflow with the permission id-token: write: " +
      `npm publish ${PACKAGE_NAME}-<version>.tgz --provenance --access public.`,
    `Attach the files of ${FOLDER}/ to the release of the tag; users check them with sha256sum --check SHA256SUMS.`,
    `To offer an image, build it from ${name}-image-context.tar.gz, with the base image pinned by its digest, and push it ` +
      `as version ${version}.`,
    `Check the result in an empty folder: npx ${PACKAGE_NAME}@${version} --version, and npm audit signatures after an installation.`,
  ];
}

function listOf(steps: readonly string[]): string {
  return steps.map((step, index) => `${String(index + 1).padStart(2)}. ${step}`).join("\n");
}
