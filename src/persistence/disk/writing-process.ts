/**
 * Names of unfinished files say which process writes them:
 *
 *     <time of creation>-<process id>-<life>-<count>-<host>
 *
 * So two processes never write one file, and a later one removes what a crash has left and nothing else. Of another
 * host nobody knows whether its process still runs: its files are left for a day.
 */

export interface WritingProcess {
  /** The machine or container. */
  readonly host: string;
  readonly pid: number;
  /** Letters and digits, different in each life of a process id. */
  readonly life: string;
  /** Whether a process of this host runs. */
  isAlive(pid: number): boolean;
}

const FOREIGN_MS_MAX = 24 * 60 * 60_000;
let markCount = 0;

/** A part for the name of a new file that the process writes. */
export function writerMark(process: WritingProcess, nowMs: number): string {
  markCount += 1;
  return [nowMs, process.pid, process.life, markCount, hostOf(process)].join("-");
}

/** Whether nobody writes the file with this mark any more. */
export function isLeftOver(
  mark: string,
  { process, nowMs }: { readonly process: WritingProcess; readonly nowMs: number },
): boolean {
  const [createdMs = "", pid = "", life = "", , ...host] = mark.split("-");
  if (!/^\d{1,16}$/.test(createdMs) || !/^\d{1,10}$/.test(pid)) return true;
  const isOld = Math.abs(nowMs - Number(createdMs)) > FOREIGN_MS_MAX;
  if (host.join("-") !== hostOf(process)) return isOld;
  if (Number(pid) === process.pid) return life !== process.life;
  return isOld || !process.isAlive(Number(pid));
}

function hostOf({ host }: WritingProcess): string {
  return host.replace(/[^A-Za-z0-9.-]/g, "_").slice(0, 64);
}
