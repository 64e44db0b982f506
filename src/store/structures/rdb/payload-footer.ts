/** The end of every dump: `| version u16 | CRC-64 of all before it |`, lowest byte first. */
import { dumpChecksumWrong, dumpVersionUnknown } from "../../errors.ts";
import { CRC64_BYTES, Crc64, writeCrc64 } from "./crc64.ts";
import type { PayloadWriter } from "./payload-writer.ts";
import { isKnownVersion, KNOWN_VERSIONS } from "./versions.ts";

export const FOOTER_BYTES = 2 + CRC64_BYTES;

/** The written bytes, with the footer. */
export function closePayload(writer: PayloadWriter, version: number): Buffer {
  const payload = writer.take(FOOTER_BYTES);
  const footer = payload.length - FOOTER_BYTES;
  payload.writeUInt16LE(version, footer);
  writeCrc64(payload, footer + 2, { buffer: payload, offset: footer + 2 });
  return payload;
}

export interface OpenPayload {
  /** The bytes before the footer. */
  readonly content: Buffer;
  /** The version of the format. */
  readonly version: number;
}

/** Throws `dumpChecksumWrong` or `dumpVersionUnknown`. */
export function openPayload(payload: Buffer): OpenPayload {
  const footer = payload.length - FOOTER_BYTES;
  if (footer < 0) throw dumpChecksumWrong;
  // The checksum first: the version of a damaged dump would mislead.
  if (!new Crc64().add(payload, 0, footer + 2).isAt(payload, footer + 2)) throw dumpChecksumWrong;
  const version = payload.readUInt16LE(footer);
  if (!isKnownVersion(version)) throw dumpVersionUnknown(version, KNOWN_VERSIONS);
  return { content: payload.subarray(0, footer), version };
}
