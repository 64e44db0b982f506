/** Figures of the process and of the thread of the store, for INFO and MEMORY. */
import { readFileSync } from "node:fs";
import { machine, release, totalmem, type } from "node:os";
import { getHeapStatistics } from "node:v8";
import type { CpuSeconds, MemoryFigures, ProcessFigures, RespFigures } from "../../store/mod.ts";

export function processFigures(readResp: () => RespFigures | undefined): ProcessFigures {
  const systemBytes = totalmem();
  return {
    processId: process.pid,
    operatingSystem: `${type()} ${release()} ${machine()}`,
    readMemory: () => readMemory(systemBytes),
    readCpu: () => ({
      process: secondsOf(process.cpuUsage()),
      children: readCpuOfChildren(),
      thread: secondsOf(process.threadCpuUsage()),
    }),
    readResp,
  };
}

function readMemory(systemBytes: number): MemoryFigures {
  const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
  return {
    usedBytes: heapUsed + external,
    heap: {
      reservedBytes: heapTotal + external,
      residentBytes: getHeapStatistics().total_physical_size + external,
    },
    residentBytes: rss,
    systemBytes,
  };
}

function secondsOf({ user, system }: NodeJS.CpuUsage): CpuSeconds {
  return { userSeconds: user / 1e6, systemSeconds: system / 1e6 };
}

/** Fields 16 and 17 of proc_pid_stat(5), in ticks; the first two end with the last parenthesis. */
const CHILD_USER_AT = 16 - 3;
const CHILD_SYSTEM_AT = 17 - 3;
/** The unit that Linux shows to programs, on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Of child processes that have ended, such as those that wrote snapshots. 0 where the system does not show it. */
export function readCpuOfChildren(path = "/proc/self/stat"): CpuSeconds {
  let text: string;
  try {
    text = readFileSync(path, "latin1");
  } catch {
    // Only Linux has this file.
    return { userSeconds: 0, systemSeconds: 0 };
  }
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const secondsAt = (index: number): number => Number(fields[index]) / TICKS_PER_SECOND || 0;
  return { userSeconds: secondsAt(CHILD_USER_AT), systemSeconds: secondsAt(CHILD_SYSTEM_AT) };
}
