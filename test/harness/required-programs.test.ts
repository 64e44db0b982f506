import assert from "node:assert/strict";
import { test } from "node:test";
import { missingProgram } from "./required-programs.ts";

test("a missing program skips its tests, and fails them where it is required", () => {
  assert.equal(missingProgram("redis-server", { PATH: "" }), "redis-server is not on the PATH");
  assert.equal(
    missingProgram("redis-server", { PATH: "", LARDER_REQUIRE: "redis-cli" }),
    "redis-server is not on the PATH",
  );
  assert.throws(() => missingProgram("redis-server", { PATH: "", LARDER_REQUIRE: "redis-cli,redis-server" }), {
    message: "LARDER_REQUIRE names redis-server, which is not on the PATH",
  });
});

test("a misspelt name in LARDER_REQUIRE is an error, so that it requires nothing silently", () => {
  assert.throws(() => missingProgram("redis-cli", { PATH: "", LARDER_REQUIRE: "redis-sever" }), {
    message:
      "LARDER_REQUIRE names redis-sever, which no test uses; known: redis-server, redis-cli, nginx, postgres, patroni, etcd, haproxy, caddy, docker-compose, systemd-analyze, radosgw, swift-proxy-server, moto, chromium, curl, bash, zsh, fish, snowball-data",
  });
});
