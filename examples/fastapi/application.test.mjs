import { test } from "node:test";
import { testQuickstart } from "./checks.mjs";
import { missing, python } from "./python.mjs";

const skip = missing(
  "fastapi",
  "uvicorn",
  "qstash",
  "upstash_ratelimit",
  "upstash_redis",
  "upstash_vector",
  "upstash_workflow",
);
if (skip) test("the application", { skip });
else testQuickstart((port) => [python, "-m", "uvicorn", "main:app", "--port", String(port)]);
