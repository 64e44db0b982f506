/**
 * A reading list: an API that stores texts, finds them by words and meaning, and
 * makes a digest of new texts by schedule, which a person must approve.
 *
 *     POST /texts              {"id": "…", "text": "…"}; 20 a minute for each caller
 *     GET  /search?q=…         the five texts that answer best
 *     POST /digests            makes a digest now
 *     POST /digests/schedule   {"cron": "0 8 * * *"}: makes one by schedule
 *     GET  /digests            the approved digests, and where to approve the next one
 *     POST /workflows/digest   called only by the messaging area, which signs its requests
 *
 * All four official clients are used unchanged; the addresses of their servers are
 * in the environment.
 */
import { Client, Receiver } from "@upstash/qstash";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { FusionAlgorithm, Index, WeightingStrategy } from "@upstash/vector";
import { serve, Client as WorkflowClient } from "@upstash/workflow";

/** The variables that `larder dev` prints. */
export interface Environment {
  readonly UPSTASH_REDIS_REST_URL: string;
  readonly UPSTASH_REDIS_REST_TOKEN: string;
  readonly UPSTASH_VECTOR_REST_URL: string;
  readonly UPSTASH_VECTOR_REST_TOKEN: string;
  readonly QSTASH_URL: string;
  readonly QSTASH_TOKEN: string;
  readonly QSTASH_CURRENT_SIGNING_KEY: string;
  readonly QSTASH_NEXT_SIGNING_KEY: string;
}

export interface ApplicationOptions {
  readonly environment: Environment;
  /** The address at which the messaging area reaches this application. */
  readonly baseUrl: string;
}

/** Answers a request of the caller with this address. */
export type Application = (request: Request, caller: string) => Promise<Response>;

interface Digest {
  readonly texts: readonly string[];
  readonly approvedBy: string;
}

const TEXTS_PER_MINUTE = 20;
const NEW_TEXTS = "texts:new";
const DIGESTS = "digests";
const APPROVAL = "digest:approval";

export function createApplication({ environment, baseUrl }: ApplicationOptions): Application {
  const redis = new Redis({
    url: environment.UPSTASH_REDIS_REST_URL,
    token: environment.UPSTASH_REDIS_REST_TOKEN,
  });
  const limit = new Ratelimit({ redis, limiter: Ratelimit.slidingWindow(TEXTS_PER_MINUTE, "1 m") });
  const index = new Index<{ length: number }>({
    url: environment.UPSTASH_VECTOR_REST_URL,
    token: environment.UPSTASH_VECTOR_REST_TOKEN,
  });
  const messaging = { baseUrl: environment.QSTASH_URL, token: environment.QSTASH_TOKEN };
  const qstash = new Client(messaging);
  const workflows = new WorkflowClient(messaging);
  const receiver = new Receiver({
    currentSigningKey: environment.QSTASH_CURRENT_SIGNING_KEY,
    nextSigningKey: environment.QSTASH_NEXT_SIGNING_KEY,
  });
  const digestUrl = `${baseUrl}/workflows/digest`;

  async function addText(request: Request, caller: string): Promise<Response> {
    const { success, remaining, reset } = await limit.limit(caller);
    if (!success) return json(429, { error: "Too many texts", retryAt: new Date(reset).toISOString() });
    const { id, text } = await readFields(request);
    if (id === undefined || text === undefined) return json(400, { error: "id and text are needed" });
    await index.upsert({ id, data: text, metadata: { length: text.length } });
    await redis.rpush(NEW_TEXTS, id);
    return json(201, { id, remaining });
  }

  async function search(words: string): Promise<Response> {
    if (words === "") return json(400, { error: "q is needed" });
    const hits = await index.query({
      data: words,
      topK: 5,
      includeData: true,
      fusionAlgorithm: FusionAlgorithm.RRF,
      weightingStrategy: WeightingStrategy.IDF,
    });
    return json(200, { texts: hits.map(({ id, score, data }) => ({ id, score, text: data })) });
  }

  async function schedule(request: Request): Promise<Response> {
    const { cron } = await readFields(request);
    if (cron === undefined) return json(400, { error: "cron is needed" });
    const { scheduleId } = await qstash.schedules.create({ scheduleId: "digest", destination: digestUrl, cron });
    return json(201, { scheduleId });
  }

  async function listDigests(): Promise<Response> {
    const [digests, approveAt] = await redis.pipeline().lrange<Digest>(DIGESTS, 0, 9).get<string>(APPROVAL).exec();
    return json(200, { digests, approveAt });
  }

  const { handler: digest } = serve(
    async (context) => {
      const ids = await context.run("collect", () => redis.lrange(NEW_TEXTS, 0, -1));
      if (ids.length === 0) return "nothing new";
      const approval = await context.createWebhook("ask for approval");
      // A real application would send this address by mail.
      await context.run("tell where to approve", () => redis.set(APPROVAL, approval.webhookUrl, { ex: 86_400 }));
      const answer = await context.waitForWebhook("approval", approval, "1d");
      if (answer.timeout) return "nobody approved";
      const approvedBy = (await answer.request?.text()) ?? "";
      await context.run("publish", () =>
        redis.multi().lpush(DIGESTS, { texts: ids, approvedBy }).ltrim(NEW_TEXTS, ids.length, -1).del(APPROVAL).exec(),
      );
      return "published";
    },
    { url: digestUrl, qstashClient: qstash, receiver, env: {}, disableTelemetry: true },
  );

  return async (request, caller) => {
    const { pathname, searchParams } = new URL(request.url);
    switch (`${request.method} ${pathname}`) {
      case "POST /texts":
        return addText(request, caller);
      case "GET /search":
        return search(searchParams.get("q") ?? "");
      case "POST /digests":
        return json(202, await workflows.trigger({ url: digestUrl }));
      case "POST /digests/schedule":
        return schedule(request);
      case "GET /digests":
        return listDigests();
      case "POST /workflows/digest":
        return digest(request);
      default:
        return json(404, { error: "There is nothing here" });
    }
  };
}

function json(status: number, value: unknown): Response {
  return Response.json(value, { status });
}

/** The string fields of a JSON body; none if it is not valid JSON. */
async function readFields(request: Request): Promise<Readonly<Record<string, string>>> {
  const body: unknown = await request.json().catch(() => undefined);
  if (typeof body !== "object" || body === null) return {};
  return Object.fromEntries(Object.entries(body).filter((field) => typeof field[1] === "string" && field[1] !== ""));
}
