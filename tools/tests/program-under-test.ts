/**
 * The program that tests start: built once for the run as a user installs it,
 * because the sources take two thirds longer to start. A test that runs alone starts
 * the sources.
 */
import { fileURLToPath } from "node:url";

/** The variable with the path of the program for the tests. */
export const PROGRAM_UNDER_TEST = "LARDER_PROGRAM_UNDER_TEST";

const FOLDER = fileURLToPath(new URL("../../node_modules/.cache/program", import.meta.url));

/** Builds it and sets the variable. */
export async function buildProgramUnderTest(): Promise<void> {
  // Not loaded by tests, which only need the name of the variable.
  const { buildPackage } = await import("../build.ts");
  await buildPackage(FOLDER);
  process.env[PROGRAM_UNDER_TEST] = `${FOLDER}/bin/larder.cjs`;
}
