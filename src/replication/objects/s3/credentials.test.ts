import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { emptyDisk } from "../../../../test/harness/persistence-fixture.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { CredentialsSource } from "./credentials.ts";

const FILE = "/store/credentials";
const CONFIG = "/store/config";
const CONFIGURED = `[default]
region = eu-central-1
[profile empty]
aws_access_key_id = AKIACONFIG
aws_secret_access_key = three
[profile other]
aws_access_key_id = AKIAUNUSED
aws_secret_access_key = unused
[profile login]
sso_session = company
`;

async function sourceOf(environment: Readonly<Record<string, string>>, file?: string) {
  const disk = await emptyDisk();
  const clock = new VirtualClock();
  if (file !== undefined) disk.put(FILE, Buffer.from(file));
  disk.put(CONFIG, Buffer.from(CONFIGURED));
  const source = new CredentialsSource({
    environment: { AWS_SHARED_CREDENTIALS_FILE: FILE, AWS_CONFIG_FILE: CONFIG, ...environment },
    disk,
    clock,
  });
  return { source, disk, clock };
}

const PROFILES = `# a comment
[default]
aws_access_key_id = AKIADEFAULT
aws_secret_access_key=one+/=
; another
[profile other]\r
AWS_Access_Key_Id=AKIAOTHER\r
aws_secret_access_key = two
aws_session_token = token==
s3 =
  aws_access_key_id = nested
[role]
role_arn = arn:aws:iam::1:role/x
source_profile = default
[empty]
[half]
aws_access_key_id = AKIAHALF
[bad]
aws_access_key_id = AKIABAD
aws_secret_access_key = hunter2 hunter2
`;

const found: readonly [Readonly<Record<string, string>>, readonly (string | undefined)[]][] = [
  [{ AWS_ACCESS_KEY_ID: "A", AWS_SECRET_ACCESS_KEY: "B" }, ["A", "B", undefined]],
  [{ AWS_ACCESS_KEY_ID: "A", AWS_SECRET_ACCESS_KEY: "B", AWS_SESSION_TOKEN: "C" }, ["A", "B", "C"]],
  [{ AWS_ACCESS_KEY_ID: "A", AWS_SECRET_ACCESS_KEY: "B", AWS_PROFILE: "other" }, ["A", "B", undefined]],
  [{}, ["AKIADEFAULT", "one+/=", undefined]],
  [{ AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "", AWS_PROFILE: "" }, ["AKIADEFAULT", "one+/=", undefined]],
  [{ AWS_PROFILE: "other" }, ["AKIAOTHER", "two", "token=="]],
  [{ AWS_PROFILE: "empty" }, ["AKIACONFIG", "three", undefined]],
];

test("credentials come from the environment, else from a profile of the file, else from that of the configuration", async () => {
  for (const [environment, expected] of found) {
    const { source } = await sourceOf(environment, PROFILES);
    const { accessKeyId, secretAccessKey, sessionToken } = await source.get();
    assert.deepEqual([accessKeyId, secretAccessKey, sessionToken], expected);
  }
});

test("the files are in the home directory unless variables name them", async () => {
  const home = { AWS_SHARED_CREDENTIALS_FILE: "", AWS_CONFIG_FILE: "", HOME: "/home" };
  const { source, disk } = await sourceOf(home, PROFILES);
  await assert.rejects(source.get(), /No credentials were found: \/home\/\.aws\/credentials does not exist; set AWS_/);
  for (const path of ["/home", "/home/.aws"]) await disk.mkdir(path);
  disk.put("/home/.aws/config", Buffer.from(PROFILES));
  assert.equal((await source.get()).accessKeyId, "AKIADEFAULT");
  source.forget();
  disk.put("/home/.aws/credentials", Buffer.from(PROFILES.replace("AKIADEFAULT", "AKIAFIRST")));
  assert.equal((await source.get()).accessKeyId, "AKIAFIRST");
});

const refused: readonly [Readonly<Record<string, string>>, string | undefined, RegExp][] = [
  [{ AWS_ACCESS_KEY_ID: "A" }, PROFILES, /^AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY: set both of them$/],
  [{ AWS_SECRET_ACCESS_KEY: "hunter2" }, PROFILES, /^AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID: /],
  [
    { AWS_ACCESS_KEY_ID: "A", AWS_SECRET_ACCESS_KEY: "hunter2\r\nx: y" },
    PROFILES,
    /of the environment have characters/,
  ],
  [{}, undefined, /^No credentials were found: \/store\/credentials does not exist; set AWS_ACCESS_KEY_ID and/],
  [{ AWS_PROFILE: "none" }, PROFILES, /^No credentials were found: \/store\/credentials has no profile none; set/],
  [{ AWS_PROFILE: "role" }, PROFILES, /^the profile role of \/store\/credentials uses role_arn, which larder does not/],
  [
    { AWS_PROFILE: "empty", AWS_CONFIG_FILE: "/store/none" },
    PROFILES,
    /^the profile empty of \/store\/credentials has no aws_access_key_id: set/,
  ],
  [
    { AWS_PROFILE: "login" },
    undefined,
    /^the profile login of \/store\/config uses sso_session, which larder does not/,
  ],
  [
    { AWS_WEB_IDENTITY_TOKEN_FILE: "/token" },
    undefined,
    /^No credentials were found: AWS_WEB_IDENTITY_TOKEN_FILE is set, which larder does not support; \/store\/credentials/,
  ],
  [{ AWS_PROFILE: "half" }, PROFILES, /^the profile half of \/store\/credentials has no aws_secret_access_key: set/],
  [{ AWS_PROFILE: "bad" }, PROFILES, /^The credentials of the profile bad of .* have characters that are not valid/],
];

test("missing credentials are refused with the place and the remedy, and no error has a secret in it", async () => {
  for (const [environment, file, message] of refused) {
    const { source } = await sourceOf(environment, file);
    await assert.rejects(source.get(), (fault: Error) => {
      assert.equal(Object(fault).kind, "refused");
      assert.match(fault.message, message);
      assert.ok(!inspect(fault).includes("hunter2"));
      return true;
    });
  }
  const { source, disk } = await sourceOf({}, PROFILES);
  disk.faultOf = () => ({ code: "EACCES" });
  await assert.rejects(source.get(), /Cannot read \/store\/credentials: EACCES; set AWS_ACCESS_KEY_ID/);
});

test("the file is read again after 10 s, and at once when the store says that they have expired", async () => {
  const { source, disk, clock } = await sourceOf({}, PROFILES);
  const idOf = async (): Promise<string> => (await source.get()).accessKeyId;
  const write = (id: string): void => disk.put(FILE, Buffer.from(PROFILES.replace("AKIADEFAULT", id)));
  assert.equal(await idOf(), "AKIADEFAULT");
  write("AKIATWO");
  clock.advance(9_999);
  assert.equal(await idOf(), "AKIADEFAULT");
  clock.advance(1);
  assert.equal(await idOf(), "AKIATWO");
  write("AKIATHREE");
  source.forget();
  assert.equal(await idOf(), "AKIATHREE");
  assert.ok(!inspect(source, { depth: 9, showHidden: true }).includes("one+/="));
});
