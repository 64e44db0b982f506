/** Reads the content of a tenant of any area from the files of its shard. */
import { defaultLimits, MessagingState, replayFrame } from "../../../../messaging/mod.ts";
import { areaDirectory } from "../../../../persistence/data-directory.ts";
import { fileDisk } from "../../../../persistence/disk/file-disk.ts";
import { readArea } from "../../../../persistence/recovery.ts";
import type { AreaName } from "../../../areas/area.ts";
import { readFrameImage, readFrameOutline } from "./frame-image.ts";
import { readMessagingImage } from "./messaging-image.ts";
import { nextFileOf, type ShardOutline, type TenantImage, type WantedTenant } from "./tenant-image.ts";

export interface ImagePlace {
  readonly area: AreaName;
  /** With the area, as `fetchShard` copies it. */
  readonly directory: string;
}

/** Rejects with the errors of `readArea`. */
export async function readOutline({ area, directory }: ImagePlace): Promise<ShardOutline> {
  if (area !== "messaging") return readFrameOutline({ area, directory });
  const state = new MessagingState(defaultLimits);
  const read = await readArea({
    ...{ disk: fileDisk, directory: areaDirectory(directory, area), area },
    apply: (frame, location) => replayFrame(state, frame, location),
  });
  return {
    names: Array.from(state.users, ({ name }) => name),
    position: read.position,
    nextFile: nextFileOf(read),
    nextTenant: state.userNumberMax + 1,
    lastMessage: state.sequenceMax,
  };
}

/** Undefined if the shard has nothing of the tenant. Rejects with the errors of `readArea`. */
export async function readImage(
  { area, directory }: ImagePlace,
  wanted: WantedTenant,
): Promise<TenantImage | undefined> {
  return area === "messaging" ? readMessagingImage(directory, wanted) : readFrameImage({ area, directory }, wanted);
}
