/** Opens the RESP port: its certificate from the files that the settings name, and a sentence for what the operator has to put right. */
import { readFileSync } from "node:fs";
import { RespListener, type RespListenerOptions } from "../edge/resp/listener.ts";
import type { NamedFile, RespPlan } from "./area.ts";
import { codeOf, listenRefusal, StartRefusal } from "./refusal.ts";

/** Rejects with a `StartRefusal` when files, port or address cannot be used. */
export async function openRespListener(
  options: Omit<RespListenerOptions, "tls">,
  { listen, tls }: Pick<RespPlan, "listen" | "tls">,
): Promise<RespListener> {
  const listener = tls === undefined ? new RespListener(options) : encryptedListener(options, tls);
  try {
    await listener.open();
  } catch (fault) {
    throw listenRefusal(fault, listen);
  }
  return listener;
}

function encryptedListener(options: Omit<RespListenerOptions, "tls">, tls: NonNullable<RespPlan["tls"]>): RespListener {
  const certificate = readNamedFile(tls.certificate);
  const key = readNamedFile(tls.key);
  try {
    return new RespListener({ ...options, tls: { certificate, key } });
  } catch (fault) {
    // The reason is OpenSSL's, and quotes nothing of the key.
    const reason = fault instanceof Error ? fault.message : String(fault);
    const sentence = `${tls.certificate.place} and ${tls.key.place}: ${tls.certificate.path} and ${tls.key.path} are no certificate in PEM and its key (${reason})`;
    throw new StartRefusal(sentence, 1, { cause: fault });
  }
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
