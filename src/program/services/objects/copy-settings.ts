/** The settings of the copy of the data directory in a store of objects. */
import { InvalidAddress, type ObjectAddress, parseAddress } from "../../../replication/objects/address.ts";
import { parseSecretKey } from "../../settings/cluster-settings.ts";
import type { Setting } from "../../settings/setting.ts";
import { BadValue, type Parser, parseDurationMs, parser, printDuration } from "../../settings/values.ts";

export const KEEP_MS = 7 * 86_400_000;
export const INTERVAL_MS = 1_000;

/** An address with the variables of AWS in this process. Throws `InvalidAddress`, whose text begins with `setting`. */
export function copyAddressOf(text: string, setting = "the address"): ObjectAddress {
  return parseAddress(text, { setting, environment: process.env });
}

const parseCopyAddress: Parser<string> = parser({ type: "string", pattern: "^(s3|file)://" }, (text) => {
  try {
    copyAddressOf(text);
    return text;
  } catch (fault) {
    if (!(fault instanceof InvalidAddress)) throw fault;
    throw new BadValue(fault.message, { cause: fault });
  }
});

export const copySettingRows = {
  replicate: {
    group: "Data",
    flag: "--replicate",
    environment: ["LARDER_REPLICATE"],
    fileKey: "replicate",
    argument: "<address>",
    meaning:
      "Copy the data directory while the server works, to s3://bucket/prefix or file:///other/disk, from which larder restore makes it again; credentials are in the usual variables of AWS",
    default: undefined,
    defaultMeaning: "none: nothing is copied",
    parse: parseCopyAddress,
  },
  replicateKeepMs: {
    group: "Data",
    flag: "--replicate-keep",
    environment: ["LARDER_REPLICATE_KEEP"],
    fileKey: "replicateKeep",
    argument: "<time>",
    meaning: "The copy has what a restore to any moment of so long a time needs; older objects are removed",
    default: printDuration(KEEP_MS),
    parse: parseDurationMs(60_000, 3_660 * 86_400_000),
  },
  replicateIntervalMs: {
    group: "Data",
    flag: "--replicate-interval",
    environment: ["LARDER_REPLICATE_INTERVAL"],
    fileKey: "replicateInterval",
    argument: "<time>",
    meaning: "The longest time that a synced write waits for its part of the copy: longer takes fewer requests",
    default: printDuration(INTERVAL_MS),
    parse: parseDurationMs(100, 3_600_000),
  },
  replicateKey: {
    group: "Data",
    environment: ["LARDER_REPLICATE_KEY"],
    argument: "<key>",
    meaning:
      "Key that seals the tokens in the copy: 32 random bytes in base64, as openssl rand -base64 32 prints; larder restore needs it again",
    default: undefined,
    defaultMeaning: "none: tokens are not copied",
    secret: true,
    parse: parseSecretKey,
  },
} as const satisfies Record<string, Setting<unknown>>;
