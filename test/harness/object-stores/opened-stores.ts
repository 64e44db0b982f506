/** Stores for tests: S3 on the fake server without sockets, and the process that writes directories. */
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { fileDisk } from "../../../src/persistence/disk/file-disk.ts";
import type { WritingProcess } from "../../../src/persistence/disk/writing-process.ts";
import type { S3Address } from "../../../src/replication/objects/address.ts";
import { CredentialsSource } from "../../../src/replication/objects/s3/credentials.ts";
import type { HttpSend } from "../../../src/replication/objects/s3/http.ts";
import { S3Store, type UploadSizes } from "../../../src/replication/objects/s3/s3-store.ts";
import { loadSign } from "../../../src/replication/objects/s3/signing.ts";
import type { StoreRequest } from "../../../src/replication/objects/store-requests.ts";
import { FakeS3, type FakeS3Options } from "./fake-s3.ts";

export const WRITER: WritingProcess = { host: "here", pid: 7, life: "now", isAlive: (pid) => pid === 8 };

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret/key+1" };

/** So that uploads in parts need few bytes. */
export const SMALL_SIZES: UploadSizes = { singleBytesMax: 1_000, partBytesMin: 600 };

export interface OpenedS3 {
  readonly server: FakeS3;
  readonly store: S3Store;
  readonly clock: VirtualClock;
  readonly counted: StoreRequest[];
}

export interface S3Setting extends Partial<S3Address> {
  readonly server?: Partial<FakeS3Options>;
  /** Between the client and the server; the default has no faults. */
  readonly between?: (send: HttpSend) => HttpSend;
  readonly environment?: Readonly<Record<string, string>>;
  readonly clock?: VirtualClock;
  readonly sizes?: UploadSizes;
}

export async function s3On(setting: S3Setting): Promise<OpenedS3> {
  const {
    server: options,
    between = (send) => send,
    environment = ENVIRONMENT,
    clock = new VirtualClock(),
    sizes,
    ...rest
  } = setting;
  const address: S3Address = {
    kind: "s3",
    bucket: "bucket",
    prefix: "",
    endpoint: "https://s3.example.test:9000",
    region: "eu-central-1",
    style: "path",
    encryption: undefined,
    isConditional: true,
    ...rest,
  };
  const { bucket, region, style } = address;
  const server = new FakeS3({
    bucket,
    region,
    style,
    accessKeyId: ENVIRONMENT.AWS_ACCESS_KEY_ID,
    secretAccessKey: ENVIRONMENT.AWS_SECRET_ACCESS_KEY,
    ...(sizes !== undefined && { partBytesMin: sizes.partBytesMin }),
    ...options,
  });
  const counted: StoreRequest[] = [];
  const store = new S3Store({
    address,
    credentials: new CredentialsSource({ environment, disk: fileDisk, clock }),
    sign: await loadSign(),
    send: between(server.send),
    clock,
    random: seededRandom(1),
    onRequest: (request) => counted.push(request),
    ...(sizes !== undefined && { sizes }),
  });
  return { server, store, clock, counted };
}
