/** The end of every dump: `| version u16 | CRC-64 of all before it |`, lowest byte first. */
import { dumpChecksumWrong } from "../../errors.ts";
import { CRC64_BYTES, writeCrc64 } from "./crc64.ts";
import type { PayloadWriter } from "./payload-writer.ts";

const FOOTER_BYTES = 2 + CRC64_BYTES;
/** That of Redis 7.4, the latest supported one. */
const VERSION_MAX = 12;

/** The written bytes, with the footer. */
export function closePayload(writer: PayloadWriter, version: number): Buffer {
  const payload = writer.take(FOOTER_BYTES);
  const footer = payload.length - FOOTER_BYTES;
  payload.writeUInt16LE(version, footer);
  writeCrc64(payload, footer + 2, { buffer: payload, offset: footer + 2 });
  return payload;
}

/** The bytes before the footer. Throws `dumpChecksumWrong`. */
export function openPayload(payload: Buffer): Buffer {
  const footer = payload.length - FOOTER_BYTES;
  if (footer < 0 || payload.readUInt16LE(footer) > VERSION_MAX) throw dumpChecksumWrong;
  const checksum = Buffer.alloc(CRC64_BYTES);
  writeCrc64(payload, footer + 2, { buffer: checksum, offset: 0 });
  if (!checksum.equals(payload.subarray(footer + 2))) throw dumpChecksumWrong;
  return payload.subarray(0, footer);
}
