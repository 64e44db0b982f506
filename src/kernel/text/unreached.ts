/** Why a server that a person has named was not reached, as the end of a sentence with its address. */
export function unreachedText(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const code = "code" in fault && typeof fault.code === "string" ? fault.code : fault.name;
  // A name with several addresses gives an error without a message.
  return code === "ECONNREFUSED" ? "no program listens there" : fault.message || code;
}
