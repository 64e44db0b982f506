/** Starts one larder for all test files, before the first one. */
export { globalSetup, globalTeardown } from "larderd/node-test/setup";
