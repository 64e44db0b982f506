/** Settings of encrypted ports, one row each; part of the table in settings.ts. */
import type { Setting } from "./setting.ts";
import { parsePath, parseSwitch } from "./values.ts";

/** The HTTP ports. */
export const tlsSettingRows = {
  tlsCertificatePath: {
    group: "Addresses",
    flag: "--tls-cert",
    environment: ["LARDER_TLS_CERT"],
    fileKey: "tlsCert",
    argument: "<path>",
    meaning:
      "Certificate in PEM, with its intermediate certificates: the ports of the areas then speak only HTTPS, and so does the admin port unless its address is loopback; it is read again when the file changes",
    default: undefined,
    parse: parsePath,
  },
  tlsKeyPath: {
    group: "Addresses",
    flag: "--tls-key",
    environment: ["LARDER_TLS_KEY"],
    fileKey: "tlsKey",
    argument: "<path>",
    meaning: "Private key of that certificate, in PEM",
    default: undefined,
    parse: parsePath,
  },
  http2: {
    group: "Addresses",
    flag: "--http2",
    environment: ["LARDER_HTTP2"],
    fileKey: "http2",
    argument: "on|off",
    meaning:
      "Offer HTTP/2 on the HTTPS ports of the areas, for proxies that need it; clients that choose HTTP/1.1 use the same ports",
    default: "off",
    parse: parseSwitch,
  },
} as const satisfies Record<string, Setting<unknown>>;

/** The RESP port. */
export const respTlsSettingRows = {
  respCertificatePath: {
    group: "Addresses",
    flag: "--resp-tls-cert",
    environment: ["LARDER_RESP_TLS_CERT"],
    fileKey: "respTlsCert",
    argument: "<path>",
    meaning: "Certificate in PEM, with its intermediate certificates: the RESP port then speaks only TLS",
    default: undefined,
    parse: parsePath,
  },
  respKeyPath: {
    group: "Addresses",
    flag: "--resp-tls-key",
    environment: ["LARDER_RESP_TLS_KEY"],
    fileKey: "respTlsKey",
    argument: "<path>",
    meaning: "Private key of the certificate, in PEM",
    default: undefined,
    parse: parsePath,
  },
} as const satisfies Record<string, Setting<unknown>>;
