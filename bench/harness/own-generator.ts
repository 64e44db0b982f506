/**
 * The load generator for machines without wrk; same arguments, same output
 * line as `replay.lua`.
 *
 * node bench/harness/own-generator.ts <port> <connections> <seconds>   (REQUESTS names the file)
 */
import { readFileSync } from "node:fs";
import { RawClient, readRequests } from "./raw-client.ts";

const [port = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number);
const requests = readRequests(readFileSync(process.env["REQUESTS"] ?? ""));
const client = new RawClient({ port, connections, requests });
setTimeout(() => client.stop(), seconds * 1_000);
console.log(JSON.stringify(await client.done));
