/** The package in Jest, whose tests are CommonJS modules. Copied into an empty folder and run there. */
const { freshLarder } = require("larderd/jest");

let larder;
beforeEach(async () => {
  larder = await freshLarder();
});
afterEach(() => larder.end());

async function call(path) {
  const { url, token } = larder.store;
  return (await fetch(`${url}/${path}`, { headers: { authorization: `Bearer ${token}` } })).json();
}

test.each([1, 2])("test %i has an empty database", async () => {
  expect(await call("incr/visits")).toEqual({ result: 1 });
});
