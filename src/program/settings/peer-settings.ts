/** The settings of those who connect, one row each; they are part of the table in settings.ts. */
import type { Setting } from "./setting.ts";
import { orOff, parseCount, parseProxies, parseSize } from "./values.ts";

const MB = 2 ** 20;

export const peerSettingRows = {
  trustedProxies: {
    group: "Addresses",
    flag: "--trusted-proxies",
    environment: ["LARDER_TRUSTED_PROXIES"],
    fileKey: "trustedProxies",
    argument: "<cidr,…>",
    meaning:
      "Addresses and networks of proxies whose X-Forwarded-For names the caller; it counts from the right, and not at all from others",
    default: "",
    defaultMeaning: "none",
    parse: parseProxies,
  },
  connectionsPerAddressMax: {
    group: "Limits",
    flag: "--max-connections-per-address",
    environment: ["LARDER_MAX_CONNECTIONS_PER_ADDRESS"],
    fileKey: "maxConnectionsPerAddress",
    argument: "<count>|off",
    meaning:
      "Most connections of one address (of one network of 64 bits of IPv6) to one port; loopback and --trusted-proxies may have any number",
    default: "5000",
    parse: orOff(parseCount(1, 1_000_000)),
  },
  bodyBytesPerSecondMin: {
    group: "Limits",
    flag: "--min-body-rate",
    environment: ["LARDER_MIN_BODY_RATE"],
    fileKey: "minBodyRate",
    argument: "<size>|off",
    meaning: "Least bytes per second of a request's body on average, after the first ten seconds; slower ones get 408",
    default: "1kb",
    parse: orOff(parseSize(1, MB)),
  },
} as const satisfies Record<string, Setting<unknown>>;
