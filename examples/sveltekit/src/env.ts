/** The variables that `larder dev` prints. The server reads them when it starts; a build needs none of them. */

import { defineEnvVars } from "@sveltejs/kit/env";
import { building } from "$app/env";

function needed(value: string | undefined): string {
  if (value === undefined && !building) throw new Error("Set it to the value that larder dev prints");
  return value ?? "";
}

export const variables = defineEnvVars({
  UPSTASH_REDIS_REST_URL: { schema: needed },
  UPSTASH_REDIS_REST_TOKEN: { schema: needed },
  UPSTASH_VECTOR_REST_URL: { schema: needed },
  UPSTASH_VECTOR_REST_TOKEN: { schema: needed },
  QSTASH_URL: { schema: needed },
  QSTASH_TOKEN: { schema: needed },
  QSTASH_CURRENT_SIGNING_KEY: { schema: needed },
  QSTASH_NEXT_SIGNING_KEY: { schema: needed },
  UPSTASH_WORKFLOW_URL: {
    description: "The address of this application for larder, where that is not the one of a request",
    schema: (value) => value,
  },
});
