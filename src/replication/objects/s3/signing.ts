/**
 * Signatures of requests: AWS Signature Version 4, by the optional package aws4fetch, which is loaded when a copy in S3
 * is asked for.
 */
import { ObjectStoreFailure } from "../object-store.ts";
import type { Credentials } from "./credentials.ts";

export const SIGNING_PACKAGE = "aws4fetch";

export interface Signable {
  readonly method: string;
  readonly url: string;
  /** All of them are signed, with `host` and the time. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hexadecimal digits. */
  readonly bodyHash: string;
}

export interface SigningContext {
  readonly credentials: Credentials;
  readonly region: string;
  readonly nowMs: number;
}

/** Returns the headers of the request with its signature, without `host`. */
export type Sign = (request: Signable, context: SigningContext) => Promise<Record<string, string>>;

/** Rejects with an `ObjectStoreFailure` that says what to install. */
export async function loadSign(
  load: () => Promise<Pick<typeof import("aws4fetch"), "AwsV4Signer">> = () => import("aws4fetch"),
): Promise<Sign> {
  let Signer: typeof import("aws4fetch").AwsV4Signer;
  try {
    Signer = (await load()).AwsV4Signer;
  } catch (cause) {
    const text = `A copy in S3 needs the package ${SIGNING_PACKAGE}: run npm install ${SIGNING_PACKAGE} beside larder`;
    throw new ObjectStoreFailure("refused", text, { cause });
  }
  // Keys of signatures by day, region and secret: the library keeps one for each of them.
  let cache = new Map<string, ArrayBuffer>();
  let cachedFor = "";
  return async ({ method, url, headers, bodyHash }, { credentials, region, nowMs }) => {
    const datetime = new Date(nowMs).toISOString().replace(/[:-]|\.\d{3}/g, "");
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    if (cachedFor !== `${datetime.slice(0, 8)}${secretAccessKey}`) {
      cache = new Map();
      cachedFor = `${datetime.slice(0, 8)}${secretAccessKey}`;
    }
    const signer = new Signer({
      method,
      url,
      headers: { ...headers, "x-amz-content-sha256": bodyHash },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: "s3",
      region,
      datetime,
      cache,
      allHeaders: true,
    });
    const signed = await signer.sign();
    return Object.fromEntries(signed.headers as unknown as Iterable<[string, string]>);
  };
}
