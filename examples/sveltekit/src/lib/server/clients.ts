/** The clients. They are functions, because a build loads each route without the environment. */

import { Client } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { Client as WorkflowClient } from "@upstash/workflow";
import * as env from "$app/env/private";

export const redis = () => new Redis({ url: env.UPSTASH_REDIS_REST_URL, token: env.UPSTASH_REDIS_REST_TOKEN });
export const index = () => new Index({ url: env.UPSTASH_VECTOR_REST_URL, token: env.UPSTASH_VECTOR_REST_TOKEN });
export const qstash = () => new Client({ baseUrl: env.QSTASH_URL, token: env.QSTASH_TOKEN });
export const workflows = () => new WorkflowClient({ baseUrl: env.QSTASH_URL, token: env.QSTASH_TOKEN });
export const limit = () =>
  new Ratelimit({ redis: redis(), limiter: Ratelimit.tokenBucket(5, "1 m", 5), prefix: "texts" });

/** The address of a route for larder. */
export function addressOf(path: string, { origin }: URL): string {
  return new URL(path, env.UPSTASH_WORKFLOW_URL ?? origin).href;
}
