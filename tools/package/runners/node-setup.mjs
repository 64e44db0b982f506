/** The global setup of node:test: one larder for all test files. */
export { globalSetup, globalTeardown } from "larderd/node-test/setup";
