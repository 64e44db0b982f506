/** The settings of encrypted ports, one row each; they are part of the table in settings.ts. */
import type { Setting } from "./setting.ts";
import { parsePath } from "./values.ts";

/** Of the HTTP ports. */
export const tlsSettingRows = {
  tlsCertificatePath: {
    group: "Addresses",
    flag: "--tls-cert",
    environment: ["LARDER_TLS_CERT"],
    fileKey: "tlsCert",
    argument: "<path>",
    meaning:
      "Certificate in PEM, with those between it and its authority: the ports of the areas then speak HTTPS and nothing else, and so does the admin port unless its address is a loopback one; it is read again when the file changes",
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
} as const satisfies Record<string, Setting<unknown>>;

/** Of the RESP port. */
export const respTlsSettingRows = {
  respCertificatePath: {
    group: "Addresses",
    flag: "--resp-tls-cert",
    environment: ["LARDER_RESP_TLS_CERT"],
    fileKey: "respTlsCert",
    argument: "<path>",
    meaning:
      "Certificate in PEM, with those between it and its authority: the RESP port then speaks TLS and nothing else",
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
