/**
 * The process of a run: it gets its options from the process that started it,
 * reports the address of its port, and ends with that process.
 */
import { StartRefusal } from "../mod.ts";
import type { RunOptions } from "./larder-pool.ts";
import type { RunReport } from "./run.ts";
import { openRunPort } from "./run-port.ts";

const report = (value: RunReport): void => void process.send?.(value);

// Nothing is kept, so nothing has to be finished.
process.once("disconnect", () => process.exit());
process.once("message", async (options: RunOptions) => {
  try {
    report({ url: (await openRunPort(options)).url });
  } catch (fault) {
    if (!(fault instanceof StartRefusal)) throw fault;
    report({ refusal: fault.message });
  }
});
