/** The server of the run is started and ended by the package. */
module.exports = {
  globalSetup: "larderd/jest/setup",
  globalTeardown: "larderd/jest/teardown",
  testMatch: ["**/jest.test.cjs"],
  transform: {},
};
