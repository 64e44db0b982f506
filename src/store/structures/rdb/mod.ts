/**
 * The public interface of Redis' RDB format and its values, for import and export,
 * which run without a store.
 */
export { REDIS_VERSION } from "../../command-facts.ts";
export { badDataFormat, CommandError } from "../../errors.ts";
export { parseFloat64 } from "../numbers/number-text.ts";
export { compareIds, formatId, ID_MIN, parseId, type StreamId } from "../stream-id.ts";
export { CRC64_BYTES, Crc64 } from "./crc64.ts";
export { readLibraries, writeLibraries } from "./function-payload.ts";
export type { DumpedHash } from "./hash-payload.ts";
export { KEY_METADATA, METADATA_CLASSES_MAX } from "./key-metadata.ts";
export { type MetadataClass, metadataClass, moduleName } from "./module-names.ts";
export { COMMON_TYPES_END, type Dumped, readPayload, writePayload } from "./payload.ts";
export { closePayload, FOOTER_BYTES, openPayload } from "./payload-footer.ts";
export { PayloadReader } from "./payload-reader.ts";
export { PayloadWriter } from "./payload-writer.ts";
export type { DumpedConsumer, DumpedEntry, DumpedGroup, DumpedStream } from "./stream-payload.ts";
export { isKnownVersion, isOfValkey, KNOWN_VERSIONS } from "./versions.ts";
