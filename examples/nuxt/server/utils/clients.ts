/** The official clients, which read their addresses and tokens from the environment. Nuxt imports them where they are named. */
import { Client, Receiver } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { Index } from "@upstash/vector";
import { Client as WorkflowClient } from "@upstash/workflow";

export const redis = Redis.fromEnv();
export const index = new Index();
export const qstash = new Client();
export const workflows = new WorkflowClient({});
export const receiver = new Receiver();
export const limit = new Ratelimit({ redis, limiter: Ratelimit.tokenBucket(5, "1 m", 5), prefix: "texts" });
