/** This process, for the names of the files that it writes beside others. */
import { hostname } from "node:os";
import { secretText } from "../../kernel/random.ts";
import { codeOf } from "../../persistence/disk/disk.ts";
import type { WritingProcess } from "../../persistence/disk/writing-process.ts";

export const thisProcess: WritingProcess = {
  host: hostname(),
  pid: process.pid,
  life: secretText(8),
  isAlive: (pid) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      // A process of another user.
      return codeOf(error) === "EPERM";
    }
  },
};
