/**
 * Connections between programs that share a secret: TLS 1.3 with the secret as a
 * pre-shared key (RFC 8446 section 2.2), and no certificates.
 *
 * (1) Each side proves in the handshake that it has the key, before a byte of HTTP
 *     is sent. Names, addresses, authorities and clocks play no part.
 * (2) A connection has keys of its own, from a Diffie-Hellman exchange, so who
 *     learns the secret later cannot read what was recorded before.
 * (3) No connection resumes an earlier one: a key that is no longer accepted opens
 *     no connection, and those that it has opened end.
 */
import { constants } from "node:crypto";
import type { Socket } from "node:net";
import type { ConnectionOptions, TLSSocket, TlsOptions } from "node:tls";

export interface NamedKey {
  /** It crosses the network in the clear, and says which of several keys is meant. */
  readonly name: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

/** What both sides agree on: OpenSSL offers an external key with this suite only. */
const SUITE = {
  minVersion: "TLSv1.3",
  maxVersion: "TLSv1.3",
  ciphers: "TLS_AES_128_GCM_SHA256",
} as const;

/** The keys that a listener accepts now. */
export class SharedKeys {
  #accepted: readonly NamedKey[];
  /** The connections that are open, with the name of the key that each has shown. */
  readonly #open = new Map<Socket, string>();

  constructor(accepted: readonly NamedKey[]) {
    this.#accepted = accepted;
  }

  /** From now on these keys are accepted. Connections of others end. keeps (3) */
  replace(accepted: readonly NamedKey[]): void {
    this.#accepted = accepted;
    for (const [socket, name] of this.#open) if (this.#find(name) === undefined) socket.destroy();
  }

  /** Of a TLS server, which refuses a peer without one of the keys. */
  get serverOptions(): TlsOptions {
    return {
      ...SUITE,
      pskCallback: (socket, name) => this.#choose(socket, name),
      // keeps (3): it keeps no sessions either.
      secureOptions: constants.SSL_OP_NO_TICKET,
    };
  }

  /** Null: the handshake goes on without a key, and fails, as there is no certificate. */
  #choose(socket: TLSSocket, name: string): Uint8Array | null {
    const secret = this.#find(name);
    if (secret === undefined) return null;
    if (!this.#open.has(socket)) socket.once("close", () => this.#open.delete(socket));
    this.#open.set(socket, name);
    return secret;
  }

  #find(name: string): Uint8Array | undefined {
    return this.#accepted.find((key) => key.name === name)?.secret;
  }
}

/**
 * Begins a connection that becomes secure only if the peer has the key. `protocols`: those that the peer may choose (ALPN), the
 * best first. keeps (1)
 */
export function connectWithKey(
  { host, port }: { readonly host: string; readonly port: number },
  { name, secret }: NamedKey,
  protocols: readonly string[] = ["http/1.1"],
): TLSSocket {
  const options: ConnectionOptions = {
    ...SUITE,
    host,
    port,
    pskCallback: () => ({ psk: secret, identity: name }),
    // A server without the key could show a certificate instead, and no authority is asked for one.
    ca: [],
    rejectUnauthorized: true,
    checkServerIdentity: () => new Error("The peer has shown a certificate instead of the key"),
    ALPNProtocols: [...protocols],
  };
  // Loaded on use, since TLS takes a thread some milliseconds.
  return process.getBuiltinModule("node:tls").connect(options);
}
