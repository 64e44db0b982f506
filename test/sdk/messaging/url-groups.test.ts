/** URL groups of the official client, under their new and their old name. */
import assert from "node:assert/strict";
import { shown, testMethods } from "./served.ts";

testMethods(
  "URL groups",
  (["urlGroups", "topics"] as const).flatMap((part) => [
    [
      [`${part}.addEndpoints`, `${part}.get`],
      "a group is created with its first endpoints, and an endpoint with the same url or name is changed",
      async (client) => {
        const groups = client[part];
        await groups.addEndpoints({ name: "group", endpoints: [{ url: "https://a.test/", name: "a" }] });
        await groups.addEndpoints({
          name: "group",
          endpoints: [{ url: "https://b.test/" }, { url: "https://c.test/", name: "a" }],
        });

        assert.deepEqual(shown(await groups.get("group")), {
          name: "group",
          endpoints: [{ url: "https://c.test/", name: "a" }, { url: "https://b.test/" }],
          createdAt: "ms",
          updatedAt: "ms",
        });
      },
    ],
    [
      [`${part}.removeEndpoints`, `${part}.list`],
      "endpoints are removed by url or name, and the group is deleted with its last one",
      async (client) => {
        const groups = client[part];
        const endpoints = [{ url: "https://a.test/", name: "a" }, { url: "https://b.test/" }];
        await groups.addEndpoints({ name: "group", endpoints });
        await groups.removeEndpoints({ name: "group", endpoints: [{ name: "a" }] });
        assert.deepEqual(
          (await groups.list()).map(({ name, endpoints: left }) => [name, left]),
          [["group", [{ url: "https://b.test/" }]]],
        );

        await groups.removeEndpoints({ name: "group", endpoints: [{ url: "https://b.test/" }] });

        assert.deepEqual(await groups.list(), []);
        await assert.rejects(groups.get("group"), { status: 404, message: '{"error":"URL group group not found"}' });
      },
    ],
    [
      [`${part}.delete`],
      "a group is deleted, and deleting a missing one is not an error",
      async (client) => {
        const groups = client[part];
        await groups.addEndpoints({ name: "group", endpoints: [{ url: "https://a.test/" }] });
        await groups.delete("group");
        await groups.delete("group");
        assert.deepEqual(await groups.list(), []);
      },
    ],
  ]),
);
