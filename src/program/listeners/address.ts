/** The base address of a listener, as clients on this machine reach it. */
import type { ListenPlan } from "../areas/area.ts";

/** `http://127.0.0.1:8079`, without a slash at the end. */
export function addressOf({ host, tls }: Pick<ListenPlan, "host" | "tls">, port: number): string {
  return `${tls === undefined ? "http" : "https"}://${authorityOf(host, port)}`;
}

/** Host and port; an address of all interfaces is the loopback address. */
export function authorityOf(host: string, port: number): string {
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${name.includes(":") ? `[${name}]` : name}:${port}`;
}
