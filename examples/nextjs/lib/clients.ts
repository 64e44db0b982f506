/**
 * The clients, which read their addresses and tokens from the environment. They are functions, because `next build`
 * loads each route, and the environment of the server may only be known when it starts.
 */
import { Client } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { Client as WorkflowClient } from "@upstash/workflow";

export const redis = () => Redis.fromEnv();
export const index = () => new Index();
export const qstash = () => new Client();
export const workflows = () => new WorkflowClient({});
export const limit = () =>
  new Ratelimit({ redis: redis(), limiter: Ratelimit.tokenBucket(5, "1 m", 5), prefix: "texts" });
