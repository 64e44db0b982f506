/**
 * Certificates in files: read at the start, and read again when they have
 * changed, so that renewing one needs no restart.
 *
 * The files are looked at every few seconds rather than at a signal: SIGHUP
 * stops the server when its terminal closes, tools that renew certificates
 * cannot all send one, and mounted secrets change by themselves.
 *
 * (1) What is not a certificate and its key is never used: half of a renewal,
 *     or a file that is being written, leaves the pair before in force.
 */
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { CertificatePair } from "../edge/node-http.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { NamedFile, TlsPlan } from "./area.ts";
import { codeOf, StartRefusal } from "./refusal.ts";

/** How often the files are looked at. */
export const CERTIFICATE_LOOK_MS = 5_000;

/** Reads the pair. Throws a `StartRefusal` that names the settings. */
export function readCertificate({ certificate, key }: TlsPlan): CertificatePair {
  const pair = { certificate: readNamedFile(certificate), key: readNamedFile(key) };
  try {
    createSecureContext({ cert: pair.certificate, key: pair.key });
    return pair;
  } catch (fault) {
    // The reason is OpenSSL's, and quotes nothing of the key.
    const reason = fault instanceof Error ? fault.message : String(fault);
    const sentence = `${certificate.place} and ${key.place}: ${certificate.path} and ${key.path} are no certificate in PEM and its key (${reason})`;
    throw new StartRefusal(sentence, 1, { cause: fault });
  }
}

export interface CertificateFollower {
  readonly clock: Clock;
  readonly log: Log;
  /** Takes a pair that differs from the one before. */
  renew(pair: CertificatePair): void;
}

/** Looks at the files of a pair that was just read, until the returned function is called. */
export function followCertificate(plan: TlsPlan, { clock, log, renew }: CertificateFollower): () => void {
  let seen = marksOf(plan);
  let inForce = readOrUndefined(plan);
  let cancel = (): void => {};
  const look = (): void => {
    const marks = marksOf(plan);
    if (marks !== seen) {
      seen = marks;
      const pair = readAgain();
      if (pair !== undefined && !isSame(pair, inForce)) {
        inForce = pair;
        renew(pair);
        log.info("a certificate was renewed", { path: plan.certificate.path });
      }
    }
    cancel = clock.after(CERTIFICATE_LOOK_MS, look);
  };
  /** keeps (1) */
  const readAgain = (): CertificatePair | undefined => {
    try {
      return readCertificate(plan);
    } catch (fault) {
      if (!(fault instanceof StartRefusal)) throw fault;
      log.warn("a changed certificate cannot be used; the one before stays in force", { reason: fault.message });
      return undefined;
    }
  };
  cancel = clock.after(CERTIFICATE_LOOK_MS, look);
  return () => cancel();
}

function readOrUndefined(plan: TlsPlan): CertificatePair | undefined {
  try {
    return readCertificate(plan);
  } catch {
    return undefined;
  }
}

function isSame(pair: CertificatePair, other: CertificatePair | undefined): boolean {
  return pair.certificate === other?.certificate && pair.key === other.key;
}

/** What changes with the files: also where a link leads elsewhere. */
function marksOf({ certificate, key }: TlsPlan): string {
  return [certificate, key]
    .map(({ path }) => {
      const facts = statSync(path, { throwIfNoEntry: false, bigint: true });
      return facts === undefined ? "none" : `${facts.dev}:${facts.ino}:${facts.size}:${facts.mtimeNs}`;
    })
    .join(" ");
}

function readNamedFile({ path, place }: NamedFile): string {
  try {
    return readFileSync(path, "utf8");
  } catch (fault) {
    const code = codeOf(fault);
    const reason = code === "ENOENT" ? `there is no file ${path}` : `${path} cannot be read (${code})`;
    throw new StartRefusal(`${place}: ${reason}`, 1, { cause: fault });
  }
}
