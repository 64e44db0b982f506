/** The places that state the version of larder. All must state that of package.json. */
import { globSync, readFileSync } from "node:fs";
import { areaDocument } from "../../src/edge/openapi/area-documents.ts";
import { readVersion } from "../../src/program/facts.ts";

export interface VersionPlace {
  readonly place: string;
  /** Undefined: the place should state the version and does not. */
  readonly version: string | undefined;
}

/** Files that may name an image or a package with its version. */
const DEPLOY_FILES = ["Dockerfile", "compose.yaml", "deploy/**/*.{yaml,yml,json}"];

/** The places in the repository, besides package.json. */
export function versionPlaces(): readonly VersionPlace[] {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    readonly version: string;
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  const openApi = JSON.parse(areaDocument("store", readVersion())) as { readonly info: { readonly version: string } };
  return [
    { place: "package-lock.json", version: lock.version },
    { place: 'package-lock.json, packages[""]', version: lock.packages[""]?.version },
    { place: "CHANGELOG.md", version: /^## \[(.+?)\]/m.exec(readFileSync("CHANGELOG.md", "utf8"))?.[1] },
    { place: "README.md", version: /larderd (\d\S*) running/.exec(readFileSync("README.md", "utf8"))?.[1] },
    { place: "GET /openapi.json", version: openApi.info.version },
    ...globSync(DEPLOY_FILES).flatMap((place) => versionsIn(readFileSync(place, "utf8"), place)),
  ];
}

/** The versions in a file of `deploy/`: `larder:1.2.3`, `larderd@1.2.3`, and the two fields of a chart. */
export function versionsIn(text: string, place: string): readonly VersionPlace[] {
  const named = text.matchAll(/\blarderd?[:@](\d+\.\d+\.\d+[\w.-]*)/g);
  const ofChart = place.endsWith("/Chart.yaml") ? text.matchAll(/^(?:version|appVersion): ["']?([^"'\s]+)/gm) : [];
  return [...named, ...ofChart].map(([, version]) => ({ place, version }));
}

/** A sentence for each place with another version. */
export function versionProblems(places: readonly VersionPlace[], expected: string): readonly string[] {
  return places
    .filter(({ version }) => version !== expected)
    .map(
      ({ place, version }) =>
        `${place} has ${version === undefined ? "no version" : `the version ${version}`}, and package.json has ${expected}`,
    );
}

/** Whether the newest entry of the changelog has no date yet. */
export function isUnreleased(): boolean {
  return /^## \[.+?\] - unreleased$/m.test(readFileSync("CHANGELOG.md", "utf8"));
}
