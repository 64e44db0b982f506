/**
 * Uploads in parts, for objects that are too large for one request.
 *
 * (1) An upload that does not become an object is aborted. A crash leaves its parts in the bucket, where they cost
 *     money without being listed, so buckets need a rule that removes incomplete uploads.
 * (2) The condition is that of the last request: parts are stored before anybody knows whether the name is taken.
 */
import { type ObjectContent, ObjectStoreFailure, readContent } from "../object-store.ts";
import { damaged, failureOf, failureOfCode, readElement, readElementOrCode } from "./answers.ts";
import type { Received } from "./http.ts";
import { payloadOf, type S3Client } from "./s3-client.ts";
import { childText, escapeXml } from "./xml.ts";

export interface Upload {
  readonly key: string;
  readonly what: string;
  /** Of the object: its encryption and its mark. */
  readonly headers: Readonly<Record<string, string>>;
  /** `if-none-match`, or nothing. */
  readonly condition: Readonly<Record<string, string>>;
}

export interface UploadServices {
  readonly client: S3Client;
  /** Only the last part may be smaller. */
  readonly partBytesMin: number;
  nowMs(): number;
}

/** `unclear`: the store does not know the upload any more, so an earlier request has ended it. */
export type UploadOutcome = "stored" | "exists" | "unclear";

const PART_BYTES_MAX = 64 * 1024 * 1024;
const PARTS_MAX = 10_000;

/** Uploads an object. Rejects with an `ObjectStoreFailure` or with the fault of the content. */
export async function uploadInParts(
  upload: Upload,
  content: ObjectContent,
  { client, partBytesMin, nowMs }: UploadServices,
): Promise<UploadOutcome> {
  const { key, what, headers, condition } = upload;
  const partBytes = Math.max(partBytesMin, Math.ceil(content.bytes / PARTS_MAX));
  if (partBytes > PART_BYTES_MAX)
    throw new ObjectStoreFailure("refused", `${what}: an object of ${content.bytes} bytes is too large for S3`);
  const created = await client.send({ kind: "put", method: "POST", key, query: { uploads: "" }, headers, what });
  if (created.status !== 200) throw failureOf(created, what, nowMs());
  const uploadId = childText(readElement(created, "InitiateMultipartUploadResult", what), "UploadId") ?? "";
  if (!/^[\x21-\x7e]{1,2048}$/.test(uploadId)) throw damaged(what, "it has no valid UploadId");
  let outcome: UploadOutcome | undefined;
  try {
    const etags: string[] = [];
    for (let start = 0; start < content.bytes; start += partBytes) {
      const bytes = await readContent(content, { start, end: Math.min(content.bytes, start + partBytes) });
      const query = { partNumber: String(etags.length + 1), uploadId };
      const sent = await client.send({ kind: "put", method: "PUT", key, query, payload: payloadOf(bytes), what });
      if (sent.status !== 200) throw failureOf(sent, what, nowMs());
      const etag = sent.headers["etag"] ?? "";
      if (!/^[\x21-\x7e]{1,256}$/.test(etag)) throw damaged(what, "a part has no valid ETag");
      etags.push(etag);
    }
    const completed = await client.send({
      kind: "put",
      method: "POST",
      key,
      query: { uploadId },
      headers: condition,
      payload: payloadOf(Buffer.from(completion(etags))),
      what,
    });
    outcome = outcomeOf(completed, what, nowMs());
    return outcome;
  } finally {
    // keeps (1)
    if (outcome !== "stored") await abort(upload, uploadId, client);
  }
}

function outcomeOf(answer: Received, what: string, nowMs: number): UploadOutcome {
  if (answer.status === 412) return "exists";
  // It may begin with 200 before the store knows the end.
  if (answer.status === 200) {
    const read = readElementOrCode(answer, "CompleteMultipartUploadResult", what);
    if ("element" in read) return "stored";
    if (read.code === "PreconditionFailed") return "exists";
    if (read.code === "NoSuchUpload") return "unclear";
    throw failureOfCode(read.code, what);
  }
  if (answer.status === 404) return "unclear";
  throw failureOf(answer, what, nowMs);
}

async function abort({ key, what }: Upload, uploadId: string, client: S3Client): Promise<void> {
  try {
    await client.send({ kind: "delete", method: "DELETE", key, query: { uploadId }, what });
  } catch (fault) {
    // The upload has its own failure or outcome; its parts are left to the rule of the bucket.
    if (!(fault instanceof ObjectStoreFailure)) throw fault;
  }
}

function completion(etags: readonly string[]): string {
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
}
