/**
 * Question: how long do commands on large values take in the engine, and how
 * much memory does an element of each type take, compared with redis-server?
 *
 * Method: in process, without HTTP and with a journal that stores nothing, one
 * process for each row (`store/data-type-rows.ts`). A row fills a value with N
 * elements and then runs one command many times, after 0.4 s of each in two other
 * databases that are not measured. Ours is the processor time of the engine's thread from
 * the call to the reply: it includes finding and checking the command and recording its
 * outcome. redis-server's is its own count of time inside the command
 * (`INFO commandstats`, usec), which excludes all that, and its network. It
 * includes waiting for the processor; so the lower quartile of twenty parts is
 * taken, except where filling is timed. Both get the same words. Bytes per
 * element: heap and buffers after a collection; `used_memory` for redis-server.
 *
 * Read: `rate` is redis-server's time divided by ours; 0.7 or more is the goal.
 * Ours has one reading of the clock in each command, as a request over HTTP has,
 * where the commands of a packet over RESP share it: without that SETBIT took a
 * quarter less, RPUSH a tenth.
 * `least` is the time of the least code in JavaScript that does the work of the
 * command (`store/data-type-floors.ts`), for rows below or near the goal.
 * `weight` is our bytes divided by redis-server's; 3 or less is the goal. Below
 * 15 % a difference is noise, and if the load is above the number of cores,
 * caches are cold and redis-server's times include some waiting.
 *
 * Run: npm run bench -- data-types [N] [row]     (1,000,000 elements by default)
 *      All rows with all elements replace the part of the data types in results.md.
 */
import { machineFacts } from "./harness/machine.ts";
import { readPart, writePart } from "./harness/results-page.ts";
import { dataTypeTable, measureDataTypes } from "./store/data-types.ts";
import { STORE_HEADING, withDataTypes } from "./store/report.ts";

const ELEMENT_COUNT = 1_000_000;

const [countText = `${ELEMENT_COUNT}`, only = ""] = process.argv.slice(2);
const elementCount = Number(countText);
const results = await measureDataTypes({ elementCount, only, log: (line) => console.error(line) });
console.log(dataTypeTable(results));
const page = elementCount === ELEMENT_COUNT && only === "" ? readPart(STORE_HEADING) : undefined;
if (page !== undefined) writePart(withDataTypes(page, { facts: machineFacts(new Date()), results }));
