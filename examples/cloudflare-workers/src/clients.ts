/** The clients of a request: a Worker gets its environment with each. */
import { Client, Receiver } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis/cloudflare";
import { Index } from "@upstash/vector/cloudflare";
import { Client as WorkflowClient } from "@upstash/workflow";

/** The variables that `larder dev` prints. */
export interface Env extends Record<string, string> {
  UPSTASH_REDIS_REST_URL: string;
  UPSTASH_REDIS_REST_TOKEN: string;
  UPSTASH_VECTOR_REST_URL: string;
  UPSTASH_VECTOR_REST_TOKEN: string;
  QSTASH_URL: string;
  QSTASH_TOKEN: string;
  QSTASH_CURRENT_SIGNING_KEY: string;
  QSTASH_NEXT_SIGNING_KEY: string;
}

export const redisOf = (env: Env) => Redis.fromEnv(env);
export const indexOf = (env: Env) => Index.fromEnv(env);
export const qstashOf = (env: Env) => new Client({ baseUrl: env.QSTASH_URL, token: env.QSTASH_TOKEN });
export const workflowsOf = (env: Env) => new WorkflowClient({ baseUrl: env.QSTASH_URL, token: env.QSTASH_TOKEN });
export const receiverOf = (env: Env) =>
  new Receiver({ currentSigningKey: env.QSTASH_CURRENT_SIGNING_KEY, nextSigningKey: env.QSTASH_NEXT_SIGNING_KEY });
export const limitOf = (env: Env) =>
  new Ratelimit({ redis: redisOf(env), limiter: Ratelimit.tokenBucket(5, "1 m", 5), prefix: "texts" });
