/**
 * Failures of vector index bodies. Invalid JSON is a bad request. Other JSON that
 * the endpoint does not accept is unprocessable, and the text names the field:
 * `vectors[3].id must be a string or a number`.
 */
import type { ListFault } from "../../kernel/float32/document.ts";
import { RequestFailure } from "../errors.ts";

export const emptyBody = new RequestFailure("bad request", "The body is empty; send JSON");
export const bodyNotUtf8 = new RequestFailure("bad request", "The body is not UTF-8");

/** `offset` in bytes, from 0. */
export function malformedJson(offset: number): RequestFailure {
  return new RequestFailure("bad request", `The body is not JSON: error at byte ${offset}`);
}

export function nestedTooDeep(depthMax: number): RequestFailure {
  return new RequestFailure("bad request", `The body is nested deeper than ${depthMax} levels`);
}

/** Every text begins with a field or `The body`. */
export function unprocessableBody(text: string): RequestFailure {
  return new RequestFailure("unprocessable", text);
}

export function wrongType(field: string, expected: string): RequestFailure {
  return unprocessableBody(`${field} must be ${expected}`);
}

export function fieldMissing(field: string): RequestFailure {
  return unprocessableBody(`${field} is missing`);
}

export function tooManyBytes(field: string, actualBytes: number, limitBytes: number): RequestFailure {
  return unprocessableBody(`${field} has ${actualBytes} bytes. Limit: ${limitBytes} bytes`);
}

/** `what`: the elements in the plural. */
export function tooManyElements(field: string, what: string, limit: number): RequestFailure {
  return unprocessableBody(`${field} has more than ${limit} ${what}`);
}

export function loneSurrogate(field: string): RequestFailure {
  return unprocessableBody(
    `${field} has a lone surrogate (\\ud800 to \\udfff), which is not a character: send whole characters`,
  );
}

/** `expected`: the description of a valid element. */
export function listAtFault(
  field: string,
  { fault, index }: { readonly fault: ListFault; readonly index: number },
  expected: string,
): RequestFailure {
  switch (fault) {
    case "no list":
      return wrongType(field, "a list of numbers");
    case "no number":
      return wrongType(`${field}[${index}]`, "a number");
    case "out of range":
      return wrongType(`${field}[${index}]`, expected);
    case "too many values":
      return tooManyElements(field, "values", index);
    default: {
      const never: never = fault;
      return never;
    }
  }
}

export function sparseLengthsDiffer(field: string, indexCount: number, valueCount: number): RequestFailure {
  return unprocessableBody(`${field} has ${indexCount} indices and ${valueCount} values; each index needs one value`);
}

export function effortOfExact(field: string): RequestFailure {
  return unprocessableBody(
    `${field} is not allowed with "exact": true, which searches without the graph: send one of them`,
  );
}

export function namespaceInBody(field: string): RequestFailure {
  return unprocessableBody(`${field} is not allowed here: put it into the path, after the command`);
}

/** The two texts that clients of the interface know (B.fetch, B.delete). */
export const idsOrPrefix = unprocessableBody("Only one of ids or prefix must be provided.");
export const idsPrefixOrFilter = unprocessableBody("Only and only one of the ids, prefix, or filter must be provided.");
