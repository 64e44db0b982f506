/**
 * What the answers of S3 mean. Texts of a store are not repeated: the answer to a wrong signature has the string that
 * was signed in it.
 */
import { type FailureKind, ObjectStoreFailure } from "../object-store.ts";
import { ThrottledFailure } from "../retrying.ts";
import type { Received } from "./http.ts";
import { childText, InvalidXml, parseXml, type XmlElement } from "./xml.ts";

export interface ListedKey {
  readonly key: string;
  readonly bytes: number;
}

export interface ListAnswer {
  readonly keys: readonly ListedKey[];
  readonly isTruncated: boolean;
  readonly continuationToken: string | undefined;
}

/** The body is not the one whose checksum was sent. */
const OTHER_BODY = ["BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"];

/** Codes of statuses below 500 after which the same request may succeed. */
const TRANSIENT = [
  "RequestTimeout",
  "SlowDown",
  "Throttling",
  "TooManyRequests",
  "InternalError",
  "ServiceUnavailable",
  "OperationAborted",
  "ConditionalRequestConflict",
  // The bytes changed on their way.
  ...OTHER_BODY,
  "IncompleteBody",
  // The upload was aborted by somebody: the next attempt begins another one.
  "NoSuchUpload",
];

/** Credentials with these codes are read again. */
const EXPIRED = ["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "RequestExpired"];

const REMEDIES: Readonly<Record<string, string>> = {
  NoSuchBucket: "create the bucket, or correct its name",
  AccessDenied:
    "give the credentials the rights s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket",
  InvalidAccessKeyId: "correct AWS_ACCESS_KEY_ID",
  SignatureDoesNotMatch: "correct AWS_SECRET_ACCESS_KEY, and the endpoint and the region of the address",
  RequestTimeTooSkewed: "correct the clock of this machine",
  AuthorizationHeaderMalformed: "correct the region of the address",
  PermanentRedirect: "correct the region of the address",
  InvalidBucketName: "correct the name of the bucket",
};

/** The code of an error answer, undefined if it has none. It has letters, digits and dots only. */
export function errorCode({ body }: Pick<Received, "body">): string | undefined {
  if (body.length === 0) return undefined;
  try {
    return codeIn(parseXml(body.toString("utf8")));
  } catch (fault) {
    if (fault instanceof InvalidXml) return undefined;
    throw fault;
  }
}

/** Whether credentials must be read again. */
export function saysExpired(answer: Received): boolean {
  return answer.status >= 400 && answer.status < 500 && EXPIRED.includes(errorCode(answer) ?? "");
}

/** Whether the store refused a body because of its checksum. */
export function saysOtherBody(answer: Received): boolean {
  return answer.status >= 400 && answer.status < 500 && OTHER_BODY.includes(errorCode(answer) ?? "");
}

/** The failure that an answer means, which is not what the request expected. */
export function failureOf(answer: Received, what: string, nowMs: number): ObjectStoreFailure {
  const { status, headers } = answer;
  const code = errorCode(answer);
  const said = `${what}: the store answered ${status}${code === undefined ? "" : ` ${code}`}`;
  if (isTransient(status, code)) return new ThrottledFailure(said, retryAfterMs(headers["retry-after"], nowMs));
  if (status >= 200 && status < 300) return new ObjectStoreFailure("damaged", `${said}, which is not expected`);
  if (status === 404 && code === undefined)
    return new ObjectStoreFailure("damaged", `${said} without a code of S3: is the endpoint of the address right?`);
  const region = headers["x-amz-bucket-region"];
  if (region !== undefined && status < 404 && /^[a-z0-9-]{1,63}$/.test(region))
    return new ObjectStoreFailure("refused", `${said}; the bucket is in the region ${region}`);
  const remedy = code !== undefined && Object.hasOwn(REMEDIES, code) ? `; ${REMEDIES[code]}` : "";
  return new ObjectStoreFailure("refused", `${said}${remedy}`);
}

/** A failure of one object of an answer that is about several. */
export function failureOfCode(code: string, what: string): ObjectStoreFailure {
  const kind: FailureKind = TRANSIENT.includes(code) ? "unavailable" : "refused";
  return new ObjectStoreFailure(kind, `${what}: the store answered ${code}`);
}

/** The element of an answer that must have this name. Throws an `ObjectStoreFailure` of the kind `damaged`. */
export function readElement({ body }: Received, name: string, what: string): XmlElement {
  const root = readXml(body, what);
  if (root.name !== name) throw damaged(what, `it has no ${name}`);
  return root;
}

/** As `readElement`, for an answer that may be an error although its status is 200. */
export function readElementOrCode(
  { body }: Received,
  name: string,
  what: string,
): { readonly element: XmlElement } | { readonly code: string } {
  const root = readXml(body, what);
  if (root.name === "Error") return { code: codeIn(root) ?? "an error without a code" };
  if (root.name !== name) throw damaged(what, `it has no ${name}`);
  return { element: root };
}

/** Reads the answer of ListObjectsV2. */
export function readList(answer: Received, what: string): ListAnswer {
  const root = readElement(answer, "ListBucketResult", what);
  const isTruncated = childText(root, "IsTruncated");
  if (isTruncated !== "true" && isTruncated !== "false") throw damaged(what, "it has no IsTruncated");
  const keys = root.children
    .filter((child) => child.name === "Contents")
    .map((child) => {
      const key = childText(child, "Key");
      const size = childText(child, "Size");
      if (key === undefined || key === "") throw damaged(what, "an object has no Key");
      if (size === undefined || !/^\d{1,15}$/.test(size)) throw damaged(what, "an object has no valid Size");
      return { key, bytes: Number(size) };
    });
  const token = childText(root, "NextContinuationToken");
  return { keys, isTruncated: isTruncated === "true", continuationToken: token === "" ? undefined : token };
}

/** The codes of the objects that a DeleteObjects has not removed. */
export function readDeleteErrors(answer: Received, what: string): readonly string[] {
  const root = readElement(answer, "DeleteResult", what);
  const codes = root.children.filter((child) => child.name === "Error").map((child) => codeIn(child) ?? "an error");
  return codes.filter((code) => code !== "NoSuchKey");
}

export function damaged(what: string, why: string): ObjectStoreFailure {
  return new ObjectStoreFailure("damaged", `${what}: the answer of the store is not valid: ${why}`);
}

function readXml(body: Buffer, what: string): XmlElement {
  try {
    return parseXml(body.toString("utf8"));
  } catch (fault) {
    if (fault instanceof InvalidXml) throw damaged(what, fault.message);
    throw fault;
  }
}

function codeIn(element: XmlElement): string | undefined {
  const code = childText(element, "Code");
  return code !== undefined && /^[A-Za-z0-9.]{1,64}$/.test(code) ? code : undefined;
}

/** 412 comes to requests without a condition from something between. */
function isTransient(status: number, code: string | undefined): boolean {
  if (status === 501) return false;
  return status >= 500 || status === 408 || status === 429 || status === 412 || TRANSIENT.includes(code ?? "");
}

/** Seconds, or a date. */
function retryAfterMs(text: string | undefined, nowMs: number): number {
  if (text === undefined) return 0;
  if (/^\d{1,6}$/.test(text.trim())) return Number(text.trim()) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
}
