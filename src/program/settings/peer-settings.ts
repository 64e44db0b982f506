/** Settings about connecting clients, and about those of the admin port, one row each; part of the table in settings.ts. */
import type { Setting } from "./setting.ts";
import { orOff, parseCount, parseHostNames, parseProxies, parseSize, parseSwitch } from "./values.ts";

const MB = 2 ** 20;

export const peerSettingRows = {
  trustedProxies: {
    group: "Addresses",
    flag: "--trusted-proxies",
    environment: ["LARDER_TRUSTED_PROXIES"],
    fileKey: "trustedProxies",
    argument: "<cidr,…>",
    meaning:
      "Addresses and networks of proxies whose X-Forwarded-For names the client; it is read from the right, and ignored from other senders",
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
      "Most connections from one address (for IPv6, from one /64 network) to one port; loopback and --trusted-proxies have no limit",
    default: "5000",
    parse: orOff(parseCount(1, 1_000_000)),
  },
  bodyBytesPerSecondMin: {
    group: "Limits",
    flag: "--min-body-rate",
    environment: ["LARDER_MIN_BODY_RATE"],
    fileKey: "minBodyRate",
    argument: "<size>|off",
    meaning: "Lowest average rate of a request body, per second, after the first ten seconds; slower requests get 408",
    default: "1kb",
    parse: orOff(parseSize(1, MB)),
  },
} as const satisfies Record<string, Setting<unknown>>;

export const adminSettingRows = {
  adminAllowedHosts: {
    group: "Addresses",
    flag: "--admin-allowed-hosts",
    environment: ["LARDER_ADMIN_ALLOWED_HOSTS"],
    fileKey: "adminAllowedHosts",
    argument: "<host,…>",
    meaning:
      "Host names, besides localhost and any IP address, that requests to the admin port may have in their Host header",
    default: "",
    defaultMeaning: "none",
    parse: parseHostNames,
  },
  console: {
    group: "Addresses",
    flag: "--console",
    environment: ["LARDER_CONSOLE"],
    fileKey: "console",
    argument: "on|off",
    meaning:
      "Serve the console, a web application, at the admin port under /console: in dev to this machine without a login, in serve after a login with the admin token",
    default: "off",
    devDefault: "on",
    defaultMeaning: "off; on in dev",
    parse: parseSwitch,
  },
} as const satisfies Record<string, Setting<unknown>>;
