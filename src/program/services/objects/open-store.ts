/** Opens the place of a copy from its address, with the credentials, sockets and files of this process. */
import type { Clock } from "../../../kernel/clock.ts";
import type { Random } from "../../../kernel/random.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import type { ObjectAddress, S3Address } from "../../../replication/objects/address.ts";
import { FileStore } from "../../../replication/objects/file-store.ts";
import { type ObjectStore, ObjectStoreFailure } from "../../../replication/objects/object-store.ts";
import { RetryingStore } from "../../../replication/objects/retrying.ts";
import { CredentialsSource } from "../../../replication/objects/s3/credentials.ts";
import { S3Store } from "../../../replication/objects/s3/s3-store.ts";
import { loadSign } from "../../../replication/objects/s3/signing.ts";
import type { StoreRequestObserver } from "../../../replication/objects/store-requests.ts";
import { thisProcess } from "../../directory/this-process.ts";
import { openHttpClient } from "./http-client.ts";

export interface OpenStoreOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  /** `read`: nothing is written, and rights to write are not needed. */
  readonly access: "read" | "write";
  readonly onRequest?: StoreRequestObserver;
  /** How long a call is repeated; absent: for minutes. */
  readonly patienceMs?: number;
  readonly onRetry?: (failure: ObjectStoreFailure, pauseMs: number) => void;
}

/** Rejects with an `ObjectStoreFailure`, which says what to do if its kind is `refused`. */
export async function openObjectStore(address: ObjectAddress, options: OpenStoreOptions): Promise<ObjectStore> {
  return address.kind === "file" ? openDirectory(address.directory, options) : openBucket(address, options);
}

async function openDirectory(directory: string, options: OpenStoreOptions): Promise<ObjectStore> {
  const { clock, access, onRequest } = options;
  const store = await FileStore.open({ directory, disk: fileDisk, clock, access, process: thisProcess, onRequest });
  return new RetryingStore(store, options);
}

async function openBucket(address: S3Address, options: OpenStoreOptions): Promise<ObjectStore> {
  const { environment, clock, random, access, onRequest } = options;
  const sign = await loadSign();
  const credentials = new CredentialsSource({ environment, disk: fileDisk, clock });
  const { send, close } = openHttpClient();
  const store = new S3Store({ address, credentials, sign, send, clock, random, onRequest, closeConnections: close });
  try {
    if (access === "write") await store.checkConditionalWrites();
  } catch (failure) {
    // While the store is away the server starts; the first new object asks again.
    if (!(failure instanceof ObjectStoreFailure) || failure.kind !== "unavailable") {
      await store.close();
      throw failure;
    }
  }
  return new RetryingStore(store, options);
}
