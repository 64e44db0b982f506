/**
 * The address of a node in the table of nodes: the URL of its store and, if it
 * accepts forwarded requests, a space, its host and the port of each area, in the
 * order of `areaNames`: `http://127.0.0.1:8079 10.0.0.1:7400,7401,7402`. Versions
 * that forward nothing write the URL alone, and print the text as it is.
 */
import { type AreaName, areaNames } from "../areas/area.ts";

export interface NodeAddress {
  /** Of its store, as clients on the same machine reach it. */
  readonly url: string;
  /** Where other nodes forward requests to; undefined: nowhere. */
  readonly cluster: ClusterAddress | undefined;
}

export interface ClusterAddress {
  /** An IP address or a host name. */
  readonly host: string;
  readonly ports: Readonly<Record<AreaName, number>>;
}

export function printNodeAddress({ url, cluster }: NodeAddress): string {
  return cluster === undefined ? url : `${url} ${printClusterAddress(cluster)}`;
}

export function printClusterAddress({ host, ports }: ClusterAddress): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${name}:${areaNames.map((area) => ports[area]).join(",")}`;
}

/** Undefined unless the node has a host and a port of each area. */
export function clusterAddressOf(
  host: string | undefined,
  ports: readonly (readonly [AreaName, number | undefined])[],
): ClusterAddress | undefined {
  if (host === undefined || ports.some(([, port]) => port === undefined)) return undefined;
  return { host, ports: Object.fromEntries(ports) as Record<AreaName, number> };
}

const CLUSTER_ADDRESS = /^(?:\[([\da-fA-F:.]+)\]|([^\s:,/]+)):(\d{1,5}),(\d{1,5}),(\d{1,5})$/;

/** Reads what any version has written; a cluster address of another form is ignored. */
export function parseNodeAddress(text: string): NodeAddress {
  const [url = "", second = ""] = text.split(" ");
  const [, bracketed, name, ...ports] = CLUSTER_ADDRESS.exec(second) ?? [];
  const host = bracketed ?? name;
  if (host === undefined) return { url, cluster: undefined };
  const [store, messaging, vector] = ports.map(Number) as [number, number, number];
  return { url, cluster: { host, ports: { store, messaging, vector } } };
}
