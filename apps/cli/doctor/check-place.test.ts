import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { placeFindings } from "./check-place.ts";
import { checkUp } from "./run.ts";

const POD = { KUBERNETES_SERVICE_HOST: "10.96.0.1", PARLEY_HOST: "0.0.0.0" };
const says = async (environment: NodeJS.ProcessEnv) => (await placeFindings(environment)).map(({ level, says: text }) => [level, text]);

describe("in a pod", () => {
  test.each([
    ["REDIS_URL", "redis://:p@ss@localhost:6379/0", "localhost"],
    ["REDIS_URL", "redis-sentinel://sentinel-0:26379,127.0.0.1:26379/main", "127.0.0.1"],
    ["PARLEY_PUBLIC_URL", "https://[::1]:3000", "[::1]"],
    ["PARLEY_AUTH_ISSUERS", "https://id.example, http://127.0.0.2:9000/realm", "127.0.0.2"],
    ["PARLEY_FILES_ENDPOINT", "http://localhost:9000", "localhost"],
  ])("%s=%s reaches only the pod itself", async (name, value, host) => {
    expect(await says({ ...POD, [name]: value })).toEqual([["problem", `${name} has the host ${host}, where a pod reaches only itself`]]);
  });

  test("addresses of others are fine, whatever they contain", async () => {
    const settings = {
      REDIS_URL: "rediss://localhost:localhost@redis.example:6379/1?name=localhost",
      PARLEY_PUBLIC_URL: "https://localhost.example.com/127.0.0.1",
      PARLEY_AUTH_ISSUERS: "https://id.example/localhost",
    };
    expect(await says({ ...POD, ...settings })).toEqual([]);
  });

  test("a front end on the loopback interface is reached by nobody, also if that is only the default", async () => {
    for (const host of ["127.0.0.1", undefined])
      expect(await says({ ...POD, PARLEY_HOST: host })).toEqual([
        ["problem", "PARLEY_HOST is 127.0.0.1, where nothing outside of the pod reaches it"],
      ]);
  });
});

test("elsewhere only an address for people is looked at, where others may call", async () => {
  const settings = {
    REDIS_URL: "redis://127.0.0.1",
    PARLEY_AUTH_ISSUERS: "http://localhost:9000",
    PARLEY_PUBLIC_URL: "http://localhost:3000",
  };
  expect(await says(settings)).toEqual([]);
  expect(await says({ ...settings, PARLEY_HOST: "0.0.0.0" })).toEqual([
    ["advice", "PARLEY_PUBLIC_URL has the host localhost: links to questions and logins work on this machine only"],
  ]);
});

describe("the folder of files", () => {
  /** `/` and below is one file system, /files another one. */
  const disk = (writable: readonly string[] = ["/files", "/", "/var"]) => ({
    async deviceOf(path: string) {
      if (path === "/files") return 2;
      if (path === "/" || path === "/var") return 1;
      throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
    },
    isWritable: async (path: string) => writable.includes(path),
  });
  const found = async (environment: NodeJS.ProcessEnv, writable?: readonly string[]) =>
    (await placeFindings({ PARLEY_HOST: "0.0.0.0", ...environment }, disk(writable))).map(({ level, says: text }) => [level, text]);

  test.each([
    ["a pod", POD, "problem"],
    ["the image", { NODE_ENV: "production" }, "advice"],
  ])("is on a volume in %s", async (_name, place, level) => {
    for (const folder of ["/files", "/files/parley/new"]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await found({ ...place, PARLEY_FILES: `dir:${folder}` })).toEqual([]);
    }
    expect(await found({ ...place, PARLEY_FILES: "dir:/var/parley" })).toEqual([
      [level, expect.stringContaining("no volume is mounted at /var/parley")],
    ]);
  });

  test("may be anywhere on a machine of one's own, and a bucket has none", async () => {
    expect(await found({ PARLEY_FILES: "dir:/var/parley" })).toEqual([]);
    expect(await found({ ...POD, PARLEY_FILES: "s3://bucket" })).toEqual([]);
  });

  test("can be written, or made", async () => {
    expect(await found({ PARLEY_FILES: "dir:/files" }, [])).toEqual([["problem", "PARLEY_FILES: /files cannot be written"]]);
    expect(await found({ PARLEY_FILES: "dir:/var/a/b" }, ["/"])).toEqual([
      ["problem", "PARLEY_FILES: /var/a/b does not exist, and cannot be made in /var"],
    ]);
  });

  test("is looked at on the real disk, where the doctor makes nothing", async () => {
    const directory = await mkdtemp(join(tmpdir(), "parley-place-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    expect(await says({ PARLEY_FILES: `dir:${directory}/new` })).toEqual([]);
    await expect(rm(join(directory, "new"))).rejects.toThrow("ENOENT");
  });
});

test("is among what the doctor checks, and keeps a pod from being called fine", async () => {
  const findings = await checkUp({ ...POD, REDIS_URL: "redis://127.0.0.1:1", PARLEY_TOOLS: "./nowhere.ts" });
  expect(findings).toContainEqual(
    expect.objectContaining({ level: "problem", about: "place", says: expect.stringContaining("REDIS_URL") }),
  );
});
