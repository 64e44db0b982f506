/** The parts of `npm run release` that need no registry (tools/release/). */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { readVersion } from "../src/program/facts.ts";
import { completeSbom, copiedSources, licensedParts } from "../tools/release/artifacts.ts";
import {
  contextProblems,
  licenceProblems,
  pagesOf,
  publishedPages,
  repositoryProblems,
} from "../tools/release/checks.ts";
import { unpublishedTargets } from "../tools/release/links.ts";
import { runRelease } from "../tools/release/release.ts";
import { versionPlaces, versionProblems, versionsIn } from "../tools/release/versions.ts";

test("npm run release publishes nothing, and prints the steps of a person", (context) => {
  const print = context.mock.method(console, "error", () => {});
  assert.equal(runRelease([]), 2);
  assert.equal(runRelease(["--dry-run", "now"]), 2);
  const stderr = String(print.mock.calls[0]?.arguments[0]);
  assert.match(stderr, /^A person publishes larder\. Run npm run release -- --dry-run first; then:$/m);
  assert.match(stderr, /two-factor authentication/);
  assert.match(stderr, /--provenance/);
});

test("all places have the version of package.json", () => {
  assert.deepEqual(versionProblems(versionPlaces(), readVersion()), []);
});

test("reports places with another version or none", () => {
  const places = [
    { place: "a", version: "1.2.3" },
    { place: "b", version: "1.2.4" },
    { place: "c", version: undefined },
  ];
  assert.deepEqual(versionProblems(places, "1.2.3"), [
    "b has the version 1.2.4, and package.json has 1.2.3",
    "c has no version, and package.json has 1.2.3",
  ]);
});

test("finds the versions of images, packages and charts in files of deploy/", () => {
  const text = "apiVersion: v2\nversion: 1.2.3\nappVersion: '1.2.4'\nimage: example/larder:1.2.5\nnpx larderd@1.2.6\n";
  assert.deepEqual(
    versionsIn(text, "deploy/chart/Chart.yaml").map(({ version }) => version),
    ["1.2.5", "1.2.6", "1.2.3", "1.2.4"],
  );
  assert.deepEqual(
    versionsIn(text, "deploy/other.yaml").map(({ version }) => version),
    ["1.2.5", "1.2.6"],
  );
});

test("the image is built from files that .dockerignore lets through", () => {
  const dockerfile = "FROM a AS build\nCOPY package.json ./\nCOPY src/a ./src\nCOPY --from=build /x ./x\nCOPY b c ./\n";
  assert.deepEqual(copiedSources(dockerfile), ["b", "c", "package.json", "src/a"]);
  assert.deepEqual(contextProblems(dockerfile, "*\n!package.json\n!src\n!b\n"), [
    "Dockerfile copies c, which .dockerignore leaves out",
  ]);
  assert.deepEqual(contextProblems(readFileSync("Dockerfile", "utf8"), readFileSync(".dockerignore", "utf8")), []);
});

test("all installed parts have a licence that permits copies, and its text", () => {
  assert.deepEqual(licenceProblems(licensedParts()), []);
  assert.deepEqual(licenceProblems([{ name: "a 1.0.0", licence: "none", text: undefined }]), [
    "a 1.0.0 has the licence none, which is not one of Apache-2.0, MIT, ISC, BSD-2-Clause, BSD-3-Clause",
    "a 1.0.0 has no file with its licence",
  ]);
});

test("the bill of materials has the name of the package, and the files in vendor/", () => {
  const sbom = { metadata: { component: { name: "package", version: "1.2.3" } }, components: [{ name: "undici" }] };
  const origin = {
    file: "zip.wasm",
    sha256: "ab12",
    package: "@zip/zip@1.0.0",
    integrity: "sha512-x==",
    path: "dist/zip.wasm",
    licence: "MIT",
  };
  assert.deepEqual(completeSbom(sbom, { name: "larderd", origins: [origin] }), {
    metadata: { component: { name: "larderd", version: "1.2.3" } },
    components: [
      { name: "undici" },
      {
        type: "file",
        "bom-ref": "zip.wasm",
        name: "zip.wasm",
        hashes: [{ alg: "SHA-256", content: "ab12" }],
        pedigree: {
          ancestors: [{ type: "library", name: "@zip/zip", version: "1.0.0", purl: "pkg:npm/%40zip/zip@1.0.0" }],
        },
        licenses: [{ license: { id: "MIT" } }],
      },
    ],
  });
});

test("accepts a missing repository, and the form that provenance compares", () => {
  assert.deepEqual(repositoryProblems(undefined), []);
  assert.deepEqual(repositoryProblems({ type: "git", url: "git+https://example.com/larder/larder.git" }), []);
  const problem = 'repository in package.json must be { "type": "git", "url": "git+https://….git" }';
  for (const repository of ["example/larder", null, { type: "git", url: "https://example.com/larder" }])
    assert.deepEqual(repositoryProblems(repository), [problem]);
});

test("the pages of a package are its Markdown files", () => {
  assert.deepEqual(pagesOf(["README.md", "dist/mod.js", "docs/run.md"]), ["README.md", "docs/run.md"]);
});

test("the published pages are those that `files` names, without those after an exclamation mark", () => {
  const paths = [
    "README.md",
    "docs/run.md",
    "docs/reference/errors.md",
    "docs/interface/store.md",
    "docs/threats.md",
    "test/README.md",
  ];
  assert.deepEqual(publishedPages(paths, ["README.md", "docs", "!docs/interface", "!docs/threats.md"]), [
    "README.md",
    "docs/run.md",
    "docs/reference/errors.md",
  ]);
});

test("no published page links to a page of docs/ that is not in the package", () => {
  const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly files: readonly string[] };
  const published = publishedPages(globSync(["*.md", "docs/**/*.md"]), files);
  assert.ok(published.includes("docs/reference/settings.md") && !published.includes("docs/threats.md"));
  assert.deepEqual(unpublishedTargets(published), []);
  assert.deepEqual(unpublishedTargets(["docs/tokens.md"]), [
    "docs/tokens.md: cluster.md#databases-indexes-and-users-at-run-time is not in the package: name the page of the repository without a link",
    "docs/tokens.md: manual.md#settings is not in the package: name the page of the repository without a link",
  ]);
});
