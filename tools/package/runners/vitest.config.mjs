/** The server of the run is started by the package. */
export default { test: { globalSetup: ["larderd/vitest/setup"], include: ["vitest.test.ts"] } };
