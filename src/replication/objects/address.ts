/**
 * Addresses of copies, as `--replicate` and the commands that read a copy have them:
 *
 *     s3://bucket/prefix?endpoint=https://host:port&region=eu-central-1&style=path
 *     file:///absolute/path
 *
 * An address is printed and logged, so it has no secret in it: one with a user or a password is refused, and no error
 * repeats more than the name of a parameter.
 *
 * `sftp://` is refused by name. SFTP has no write that fails if the name is taken and that can be repeated after a lost
 * answer, and the only library that is kept, ssh2 (with ssh2-sftp-client above it), runs a script at its installation
 * that compiles native code where it can.
 */
import { fileURLToPath } from "node:url";
import { isObjectName, NAME_BYTES_MAX } from "./object-name.ts";

export interface FileAddress {
  readonly kind: "file";
  /** An absolute path. */
  readonly directory: string;
}

export interface S3Address {
  readonly kind: "s3";
  readonly bucket: string;
  /** Without slashes at its ends; empty: the whole bucket. */
  readonly prefix: string;
  /** The URL of the server, without the bucket, and without a slash at its end. */
  readonly endpoint: string;
  readonly region: string;
  /** Where the bucket is named: in the path of a request, or in its host. */
  readonly style: "path" | "virtual";
  readonly encryption: ServerSideEncryption | undefined;
  /** False: the store has no conditional writes, and the operator accepts that two servers are not kept apart. */
  readonly isConditional: boolean;
}

export interface ServerSideEncryption {
  readonly algorithm: "AES256" | "aws:kms";
  /** Only for `aws:kms`; undefined: the key of the account. */
  readonly keyId: string | undefined;
}

export type ObjectAddress = FileAddress | S3Address;

/** An address that cannot be used. The message names the setting and the remedy, and repeats no secret. */
export class InvalidAddress extends Error {
  override name = "InvalidAddress";
}

export interface AddressReading {
  /** Where the address comes from, for errors: `--replicate`. */
  readonly setting: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const EXAMPLES = "s3://bucket/prefix or file:///absolute/path";
const REGION_DEFAULT = "us-east-1";
/** With the longest name of an object, a key has the 1,024 bytes that S3 accepts. */
const PREFIX_BYTES_MAX = 1_024 - NAME_BYTES_MAX - 1;
const PARAMETERS = ["endpoint", "region", "style", "sse", "kms-key-id", "conditional"] as const;

/** Parses an address. Throws `InvalidAddress`. */
export function parseAddress(text: string, reading: AddressReading): ObjectAddress {
  const { setting } = reading;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === "sftp")
    throw new InvalidAddress(`${setting}: sftp:// is not supported: use s3:// or a directory, such as ${EXAMPLES}`);
  if (scheme !== "s3" && scheme !== "file")
    throw new InvalidAddress(`${setting} must begin with s3:// or file://, such as ${EXAMPLES}`);
  const url = URL.parse(text);
  if (url === null || !/^[a-z0-9]+:\/\//i.test(text) || /[^\x21-\x7e]/.test(text))
    throw new InvalidAddress(`${setting} is not a valid URL: write it as ${EXAMPLES}, and other characters as %20`);
  if (url.username !== "" || url.password !== "")
    throw new InvalidAddress(
      `${setting} must not have a user or a password in it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead`,
    );
  if (url.hash !== "") throw new InvalidAddress(`${setting} must not have a # in it: write it as %23`);
  return scheme === "file" ? fileAddress(url, setting) : s3Address(url, reading);
}

/** The address for logs and errors, without its parameters. */
export function printAddress(address: ObjectAddress): string {
  if (address.kind === "file") return `file://${address.directory}`;
  return `s3://${address.bucket}${address.prefix === "" ? "" : `/${address.prefix}`}`;
}

function fileAddress(url: URL, setting: string): FileAddress {
  if (url.search !== "") throw new InvalidAddress(`${setting}: a file:// address has no parameters: remove the ?`);
  if (url.hostname !== "")
    throw new InvalidAddress(`${setting}: a file:// address names no host: write three slashes, file:///absolute/path`);
  let directory: string;
  try {
    directory = fileURLToPath(url);
  } catch (cause) {
    throw new InvalidAddress(`${setting} is not a valid path: %2F is not allowed in it`, { cause });
  }
  if (directory.includes("\0")) throw new InvalidAddress(`${setting} is not a valid path: %00 is not allowed in it`);
  return { kind: "file", directory: directory.replace(/(?<=.)\/+$/, "") };
}

function s3Address(url: URL, { setting, environment }: AddressReading): S3Address {
  const parameters = readParameters(url, setting);
  const bucket = url.host;
  const prefix = decodedPath(url, setting);
  if (prefix !== "" && !isObjectName(prefix))
    throw new InvalidAddress(
      `${setting}: the prefix must be printable ASCII without // and without the parts . and ..`,
    );
  if (prefix.length > PREFIX_BYTES_MAX)
    throw new InvalidAddress(`${setting}: the prefix must have at most ${PREFIX_BYTES_MAX} bytes`);
  const region =
    parameters.get("region") ?? setOf(environment, "AWS_REGION") ?? setOf(environment, "AWS_DEFAULT_REGION");
  if (region !== undefined && !/^[a-z0-9-]{1,63}$/i.test(region))
    throw new InvalidAddress(`${setting}: the region must have letters, digits and hyphens only, such as eu-central-1`);
  const given = givenEndpoint(parameters, { setting, environment });
  const endpoint = given ?? amazonEndpoint(region ?? REGION_DEFAULT);
  return {
    kind: "s3",
    bucket,
    prefix,
    endpoint,
    region: region ?? REGION_DEFAULT,
    style: styleOf(parameters, { setting, bucket, isAmazon: given === undefined }),
    encryption: encryptionOf(parameters, setting),
    isConditional: oneOf(parameters, "conditional", { setting, values: ["yes", "no"] }) !== "no",
  };
}

function readParameters(url: URL, setting: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    // An unknown name may be a secret that was put in the wrong place.
    if (!PARAMETERS.some((known) => known === name))
      throw new InvalidAddress(`${setting} has an unknown parameter: the parameters are ${PARAMETERS.join(", ")}`);
    if (parameters.has(name))
      throw new InvalidAddress(`${setting} has the parameter ${name} twice: remove one of them`);
    if (value === "")
      throw new InvalidAddress(`${setting}: the parameter ${name} is empty: give it a value or remove it`);
    parameters.set(name, value);
  }
  return parameters;
}

function decodedPath(url: URL, setting: string): string {
  try {
    return decodeURIComponent(url.pathname.replace(/^\/|\/$/g, ""));
  } catch (cause) {
    throw new InvalidAddress(`${setting}: the prefix has a % that is not followed by two hexadecimal digits`, {
      cause,
    });
  }
}

/** Both styles need a name that servers accept; the host of a request accepts less. */
function styleOf(
  parameters: ReadonlyMap<string, string>,
  { setting, bucket, isAmazon }: { setting: string; bucket: string; isAmazon: boolean },
): S3Address["style"] {
  const chosen = oneOf(parameters, "style", { setting, values: ["path", "virtual"] });
  // A dot in the name would not fit the certificate of *.s3.amazonaws.com.
  const style = chosen ?? (isAmazon && !bucket.includes(".") ? "virtual" : "path");
  const pattern =
    style === "virtual" || isAmazon ? /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/ : /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/;
  if (!pattern.test(bucket) || bucket.includes(".."))
    throw new InvalidAddress(
      `${setting} must name a bucket after s3://, of 3 to 63 lower-case letters, digits, dots and hyphens`,
    );
  return style;
}

function givenEndpoint(
  parameters: ReadonlyMap<string, string>,
  { setting, environment }: AddressReading,
): string | undefined {
  const sources = [
    [`the parameter endpoint of ${setting}`, parameters.get("endpoint")],
    ["AWS_ENDPOINT_URL_S3", setOf(environment, "AWS_ENDPOINT_URL_S3")],
    ["AWS_ENDPOINT_URL", setOf(environment, "AWS_ENDPOINT_URL")],
  ] as const;
  const [source, text] = sources.find(([, value]) => value !== undefined) ?? [];
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw new InvalidAddress(`${source} must be an http or https URL, such as https://s3.example.com:9000`);
  if (url.username !== "" || url.password !== "")
    throw new InvalidAddress(`${source} must not have a user or a password in it: set AWS_ACCESS_KEY_ID instead`);
  if (url.search !== "" || url.hash !== "")
    throw new InvalidAddress(`${source} must not have a ? or a # in it; write an & in it as %26`);
  return url.href.replace(/\/+$/, "");
}

function amazonEndpoint(region: string): string {
  return `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

function encryptionOf(parameters: ReadonlyMap<string, string>, setting: string): ServerSideEncryption | undefined {
  const algorithm = oneOf(parameters, "sse", { setting, values: ["AES256", "aws:kms"] });
  const keyId = parameters.get("kms-key-id");
  if (keyId !== undefined && algorithm !== "aws:kms")
    throw new InvalidAddress(`${setting}: the parameter kms-key-id needs sse=aws:kms beside it`);
  if (keyId !== undefined && !/^[\x21-\x7e]{1,2048}$/.test(keyId))
    throw new InvalidAddress(`${setting}: the parameter kms-key-id must be the id or the ARN of a key`);
  return algorithm === undefined ? undefined : { algorithm, keyId };
}

function oneOf<Value extends string>(
  parameters: ReadonlyMap<string, string>,
  name: (typeof PARAMETERS)[number],
  { setting, values }: { setting: string; values: readonly Value[] },
): Value | undefined {
  const text = parameters.get(name);
  const value = values.find((each) => each === text);
  if (text !== undefined && value === undefined)
    throw new InvalidAddress(`${setting}: the parameter ${name} must be ${values.join(" or ")}`);
  return value;
}

/** An empty variable counts as none, as the tools of AWS do. */
function setOf(environment: AddressReading["environment"], name: string): string | undefined {
  const value = environment[name];
  return value === "" ? undefined : value;
}
