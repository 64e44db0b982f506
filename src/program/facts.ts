/** Facts about the program and the machine that several parts of the start need. */
import { readFileSync } from "node:fs";
import { parseJsonText } from "../kernel/json/parse.ts";
import { FORMAT } from "../persistence/journal/file-format.ts";
import { packageRoot } from "./package-files.ts";
import { TOKENS_FORMAT } from "./tenants/stored-tokens.ts";

interface PackageFile {
  readonly version: string;
}

/** The name on npm; the commands are `larder` and `larderd`. */
export const PACKAGE_NAME = "larderd";

/** The variable with the address of a test run (testing/). It is no setting. */
export const TEST_RUN_VARIABLE = "LARDER_TEST_URL";

/** The version in package.json. */
export function readVersion(): string {
  const text = readFileSync(new URL("package.json", packageRoot), "utf8");
  return (parseJsonText(text) as PackageFile).version;
}

/** The newest format of each kind of file that this version writes. */
export const fileFormats = { data: FORMAT, tokens: TOKENS_FORMAT } as const;
