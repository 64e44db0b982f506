/** Bugs of a follower, as its disk does them. */
import type { Disk } from "../../../src/persistence/disk/disk.ts";
import { type Intercepted, interceptedDisk } from "../disk/intercepted-disk.ts";
import type { FollowBug } from "./follow-life.ts";

/** Operations that report success and do nothing. */
function without(isSkipped: (operation: Intercepted) => boolean): FollowBug {
  return (disk) =>
    interceptedDisk(disk, (operation, run) =>
      // No caller uses the results of these operations.
      isSkipped(operation) ? Promise.resolve(undefined as never) : run(),
    );
}

const isJournal = ({ path }: Intercepted): boolean => path.endsWith(".journal");

/** Each write of a segment is appended to it. */
function appending(disk: Disk): Disk {
  return {
    ...interceptedDisk(disk, (_, run) => run()),
    async open(path, how, mode) {
      const file = await disk.open(path, how, mode);
      if (!path.endsWith(".journal")) return file;
      return { ...interceptedFile(file), write: async (bytes) => file.write(bytes, await file.size()) };
    },
  };
}

function interceptedFile(file: Awaited<ReturnType<Disk["open"]>>): Awaited<ReturnType<Disk["open"]>> {
  return {
    write: (bytes, offset) => file.write(bytes, offset),
    writeNow: (bytes, offset) => file.writeNow(bytes, offset),
    read: (target, offset) => file.read(target, offset),
    fdatasync: () => file.fdatasync(),
    fsync: () => file.fsync(),
    truncate: (bytes) => file.truncate(bytes),
    size: () => file.size(),
    close: () => file.close(),
  };
}

export const followBugs: Readonly<Record<string, FollowBug>> = {
  "does not make bytes durable before it counts them": without((each) => each.kind === "sync" && isJournal(each)),
  "keeps bytes of a former history after those of the new one": without(
    (each) => each.kind === "truncate" && isJournal(each),
  ),
  "keeps segments that the source no longer has": without((each) => each.kind === "unlink" && isJournal(each)),
  "keeps the snapshot of a former history": without(
    ({ kind, path }) => kind === "unlink" && path.endsWith(".snapshot"),
  ),
  "gives a snapshot its name before its bytes are durable": without(
    ({ kind, path }) => kind === "sync" && path.endsWith(".snapshot.new"),
  ),
  "writes a part twice": appending,
};
