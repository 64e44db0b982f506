/**
 * Certificates in files: read at the start, and read again when they have
 * changed, so that a renewal needs no restart.
 *
 * The files are checked every few seconds rather than at a signal: SIGHUP stops
 * the server when its terminal closes, not every tool that renews certificates
 * can send a signal, and mounted secrets change without one.
 *
 * (1) Only a certificate with its own key is used: after half of a renewal, or
 *     with a file that is empty or being written, the previous pair stays in use.
 * (2) A certificate that is not valid now is used, because clients decide what
 *     they trust, and is logged: when it is read, and when it expires while in
 *     use.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { CertificatePair } from "../../edge/http/transport.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { Gauge } from "../../kernel/metrics.ts";
import { NoText, readFileBytes } from "../../persistence/disk/text-file.ts";
import type { NamedFile, TlsPlan } from "../areas/area.ts";
import { codeOf, StartRefusal } from "../refusal.ts";

/** How often the files are checked. */
export const CERTIFICATE_LOOK_MS = 5_000;

/** Reads the pair. Throws a `StartRefusal` that names the settings. */
export function readCertificate({ certificate, key }: TlsPlan): CertificatePair {
  const pair = readFiles({ certificate, key });
  try {
    // An empty text would make a context without a certificate, and every handshake would fail.
    const [own] = chainOf(pair.certificate);
    if (own?.checkPrivateKey(createPrivateKey(pair.key)) !== true) throw new Error("they do not belong together");
    createSecureContext({ cert: pair.certificate, key: pair.key });
    return pair;
  } catch (fault) {
    // The reason is OpenSSL's text, which quotes nothing from the key.
    const reason = fault instanceof Error ? fault.message : String(fault);
    const sentence = `${certificate.place} and ${key.place}: ${certificate.path} and ${key.path} are not a PEM certificate and its key (${reason})`;
    throw new StartRefusal(sentence, 1, { cause: fault });
  }
}

/** The texts of both files; the refusal names both if neither can be read. */
function readFiles({ certificate, key }: TlsPlan): CertificatePair {
  const refusals: StartRefusal[] = [];
  const attempt = (file: NamedFile): string => {
    try {
      return readNamedFile(file);
    } catch (fault) {
      if (!(fault instanceof StartRefusal)) throw fault;
      refusals.push(fault);
      return "";
    }
  };
  const pair = { certificate: attempt(certificate), key: attempt(key) };
  if (refusals.length > 0)
    throw new StartRefusal(refusals.map(({ message }) => message).join("; "), 1, { cause: refusals[0]?.cause });
  return pair;
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificate of the server, then its intermediate certificates. Throws if the file has no certificate. */
function chainOf(pem: string): readonly X509Certificate[] {
  const texts = pem.match(PEM_CERTIFICATE) ?? [];
  if (texts.length === 0) throw new Error("there is no certificate in the file");
  return texts.map((text) => new X509Certificate(text));
}

/** The time in which every certificate of a pair is valid. */
function validityOf({ certificate }: CertificatePair): { readonly fromMs: number; readonly toMs: number } {
  const chain = chainOf(certificate);
  return {
    fromMs: Math.max(...chain.map(({ validFromDate }) => validFromDate.getTime())),
    toMs: Math.min(...chain.map(({ validToDate }) => validToDate.getTime())),
  };
}

export interface CertificateFollower {
  readonly clock: Clock;
  readonly log: Log;
  /** Receives the time when the certificate expires, in seconds of Unix time. */
  readonly expiry: Pick<Gauge, "set">;
  /** Receives a pair that differs from the previous one. */
  renew(pair: CertificatePair): void;
}

/** Watches the files of a pair that was just read, until the returned function is called. */
export function followCertificate(plan: TlsPlan, { clock, log, expiry, renew }: CertificateFollower): () => void {
  let seen = marksOf(plan);
  let inForce = readOrUndefined(plan);
  /** Undefined: nothing more to log about it. keeps (2) */
  let endsAtMs: number | undefined;
  let cancel = (): void => {};
  const { path } = plan.certificate;
  const reportValidity = (pair: CertificatePair): void => {
    const { fromMs, toMs } = validityOf(pair);
    expiry.set(toMs / 1_000);
    endsAtMs = toMs;
    if (fromMs > clock.nowMs())
      log.warn("a certificate is not valid yet", { path, from: new Date(fromMs).toISOString() });
    reportEnd();
  };
  const reportEnd = (): void => {
    if (endsAtMs === undefined || endsAtMs > clock.nowMs()) return;
    log.warn("a certificate has expired: clients refuse it", { path, end: new Date(endsAtMs).toISOString() });
    endsAtMs = undefined;
  };
  const check = (): void => {
    reportEnd();
    const marks = marksOf(plan);
    if (marks !== seen) {
      seen = marks;
      const pair = readAgain();
      if (pair !== undefined && !isSame(pair, inForce)) {
        inForce = pair;
        renew(pair);
        log.info("a certificate was renewed", { path });
        reportValidity(pair);
      }
    }
    cancel = clock.after(CERTIFICATE_LOOK_MS, check);
  };
  /** keeps (1) */
  const readAgain = (): CertificatePair | undefined => {
    try {
      return readCertificate(plan);
    } catch (fault) {
      if (!(fault instanceof StartRefusal)) throw fault;
      log.warn("a changed certificate cannot be used; the previous certificate stays in use", {
        reason: fault.message,
      });
      return undefined;
    }
  };
  if (inForce !== undefined) reportValidity(inForce);
  cancel = clock.after(CERTIFICATE_LOOK_MS, check);
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

/** A text that changes with the files, also if a link points elsewhere. */
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
    // Beside its PEM a certificate may have comments in any encoding.
    return readFileBytes(path).toString("utf8");
  } catch (fault) {
    if (fault instanceof NoText) throw new StartRefusal(`${place}: ${fault.message}`, 1, { cause: fault });
    const code = codeOf(fault);
    const reason = code === "ENOENT" ? `there is no file ${path}` : `${path} cannot be read (${code})`;
    throw new StartRefusal(`${place}: ${reason}`, 1, { cause: fault });
  }
}
