/**
 * larder in a container, for tests with Testcontainers. Copy this file; the image is
 * built from the Dockerfile of the repository: docker build -t larder .
 *
 *     const larder = await startLarder();
 *     Object.assign(process.env, larder.env);
 *     await larder.container.stop();
 */
import { randomBytes } from "node:crypto";
import { GenericContainer, type StartedTestContainer, Wait } from "testcontainers";

const ports = { store: 8079, messaging: 8080, vector: 8081, resp: 6379 };

export interface StartedLarder {
  readonly container: StartedTestContainer;
  /** The variables that the official clients read, and `REDIS_URL`. */
  readonly env: Readonly<Record<string, string>>;
}

export async function startLarder(image = "larder"): Promise<StartedLarder> {
  // Other machines may reach the published ports, so no token is well known.
  const secret = (): string => randomBytes(24).toString("hex");
  const user = Buffer.from(JSON.stringify({ UserID: "main", Password: secret() })).toString("base64");
  const tokens = { store: secret(), messaging: user, vector: secret() };
  const keys = { current: `sig_${secret()}`, next: `sig_${secret()}` };
  const container = await new GenericContainer(image)
    .withCommand(["dev", "--resp-port", String(ports.resp), "--allow-destination", "host.testcontainers.internal"])
    .withEnvironment({
      LARDER_STORE_TOKEN: tokens.store,
      LARDER_MESSAGING_TOKEN: tokens.messaging,
      LARDER_VECTOR_TOKEN: tokens.vector,
      LARDER_CURRENT_SIGNING_KEY: keys.current,
      LARDER_NEXT_SIGNING_KEY: keys.next,
    })
    .withExposedPorts(...Object.values(ports))
    // The image asks /health/ready.
    .withWaitStrategy(Wait.forHealthCheck())
    .start();
  const url = (port: number, scheme = "http", login = ""): string =>
    `${scheme}://${login}${container.getHost()}:${container.getMappedPort(port)}`;
  return {
    container,
    env: {
      UPSTASH_REDIS_REST_URL: url(ports.store),
      UPSTASH_REDIS_REST_TOKEN: tokens.store,
      REDIS_URL: url(ports.resp, "redis", `default:${tokens.store}@`),
      UPSTASH_VECTOR_REST_URL: url(ports.vector),
      UPSTASH_VECTOR_REST_TOKEN: tokens.vector,
      QSTASH_URL: url(ports.messaging),
      QSTASH_TOKEN: tokens.messaging,
      QSTASH_CURRENT_SIGNING_KEY: keys.current,
      QSTASH_NEXT_SIGNING_KEY: keys.next,
    },
  };
}
