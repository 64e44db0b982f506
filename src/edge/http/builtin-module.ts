/**
 * What we use of `node:http`. An import of that module by name reads all its
 * properties, of which some load a whole client: 60 ms of processor time in each
 * thread. So everything imports its values from here.
 */
export const { createServer, IncomingMessage, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule("node:http");
