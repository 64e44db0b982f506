/** Settings of workflow runs: rows of the table in settings.ts. */
import type { Setting } from "./setting.ts";
import { parseCount, parseSize } from "./values.ts";

const KB = 2 ** 10;
const GB = 2 ** 30;

export const workflowSettingRows = {
  stepsPerRunMax: {
    group: "Messaging",
    flag: "--max-workflow-steps",
    environment: ["LARDER_MAX_WORKFLOW_STEPS"],
    fileKey: "maxWorkflowSteps",
    argument: "<count>",
    meaning: "Most steps of a workflow run",
    default: "10000",
    parse: parseCount(1, 1_000_000),
  },
  runBytesMax: {
    group: "Messaging",
    flag: "--max-workflow-bytes",
    environment: ["LARDER_MAX_WORKFLOW_BYTES"],
    fileKey: "maxWorkflowBytes",
    argument: "<size>",
    meaning: "Most bytes of all steps of a workflow run together",
    default: "100mb",
    parse: parseSize(KB, GB),
  },
  invokeDepthMax: {
    group: "Messaging",
    flag: "--max-invoke-depth",
    environment: ["LARDER_MAX_INVOKE_DEPTH"],
    fileKey: "maxInvokeDepth",
    argument: "<count>",
    meaning: "Longest chain of workflow runs in which each invokes the next",
    default: "100",
    parse: parseCount(1, 10_000),
  },
  waitersPerEventMax: {
    group: "Messaging",
    flag: "--max-waiters",
    environment: ["LARDER_MAX_WAITERS"],
    fileKey: "maxWaiters",
    argument: "<count>",
    meaning: "Most workflow runs that may wait for one event",
    default: "10000",
    parse: parseCount(1, 10_000_000),
  },
  lazyFetchBytes: {
    group: "Messaging",
    flag: "--lazy-fetch",
    environment: ["LARDER_LAZY_FETCH"],
    fileKey: "lazyFetch",
    argument: "<size>",
    meaning: "Above this size, the steps of a workflow run are not sent with a delivery; its client fetches them",
    default: "4mb",
    parse: parseSize(KB, GB),
  },
} as const satisfies Record<string, Setting<unknown>>;
