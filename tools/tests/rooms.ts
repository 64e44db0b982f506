/** Which tests belong to a room: `npm run ok -- store` runs these and the house rules. */

/** The tests beside the code of a room, and what looks at the room from outside. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  kernel: ["src/kernel/**/*.test.ts"],
  store: [
    "src/store/**/*.test.ts",
    "test/conformance/store-*.test.ts",
    "test/conformance/json-depth.test.ts",
    "test/sdk/*.test.ts",
    "test/sdk/python/*.test.ts",
  ],
  vector: ["src/vector/**/*.test.ts", "test/conformance/vector-*.test.ts", "test/sdk/vector/*.test.ts"],
  messaging: [
    "src/messaging/**/*.test.ts",
    "test/conformance/{messaging,workflow}-*.test.ts",
    "test/sdk/{messaging,workflow}/*.test.ts",
  ],
  edge: ["src/edge/**/*.test.ts", "test/conformance/**/*.test.ts"],
  persistence: ["src/persistence/**/*.test.ts"],
  cluster: ["src/cluster/**/*.test.ts", "test/differential/cluster/*.test.ts", "test/simulation/cluster/**/*.test.ts"],
  replication: [
    "src/replication/**/*.test.ts",
    "test/simulation/replication/*.test.ts",
    "test/program/replication/*.test.ts",
  ],
  testing: ["src/testing/**/*.test.ts"],
  transfer: ["src/transfer/**/*.test.ts"],
  program: ["src/program/**/*.test.ts", "src/*.test.ts", "test/console/*.test.ts"],
};
