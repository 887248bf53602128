/** Uploads into a directory. */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FileStore, sweepFiles } from "@parley/core";
import { fileStore } from "@parley/files";
import { catalogue, defineTool } from "@parley/sdk";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { describeUploads } from "../../test/contract/uploads-contract.ts";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy } from "./deployment.fixture.ts";
import type { Visitors } from "./front-end/visitors.ts";
import { OWN_UPLOADS_MAX, UPLOADS_MAX } from "./routes/asks/route.ts";

let directory: string;
let files: FileStore;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-files-"));
  const store = await fileStore({ PARLEY_FILES: `dir:${directory}` }, "parley");
  if (!store) throw new Error("there is no store");
  files = store;
});
afterEach(() => rm(directory, { recursive: true }));

const left = async () =>
  (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map(({ name }) => name);

describeUploads("a directory", () => ({ files, left }));

test("the remains of an interrupted upload are removed once they are old, even if the task remains", async () => {
  const folder = join(directory, "parley", `0-${"a".repeat(22)}`);
  const store = { load: async () => ({}) as never } as unknown as Parameters<typeof sweepFiles>[0]["store"];
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "x.part"), "half");
  await sweepFiles({ store, files, log });
  expect(await left()).toEqual(["x.part"]);
  const longAgo = new Date(Date.now() - 2 * 60 * 60_000);
  await utimes(join(folder, "x.part"), longAgo, longAgo);
  await utimes(folder, longAgo, longAgo);
  await sweepFiles({ store, files, log });
  expect(await left()).toEqual([]);
});

test("are accepted ten at once from one person, and a hundred in total", async () => {
  const take = defineTool({ name: "take", run: async (_args, ctx) => String((await ctx.file("files", { message: "Your file?" })).name) });
  const named: Visitors = { authenticate: ({ headers }) => callerNamed(String(headers["x-principal"])), ticket: undefined };
  const deployment = await deploy({ catalogue: catalogue([take]), fronts: 1, files, visitors: named });
  const here = deployment.fronts[0]!;
  const WITH_ALL = UPLOADS_MAX / OWN_UPLOADS_MAX - 1;
  const people = Array.from({ length: WITH_ALL + 4 }, (_, index) => `person-${index}`);
  const pages = await Promise.all(
    people.map(async (principal) => {
      const as = { principal };
      const taskId = String((await rpc(here, "tools/call", { name: "take", arguments: {} }, as)).result!["taskId"]);
      const asks = async () => (await rpc(here, "tasks/get", { taskId }, as)).result!["inputRequests"];
      await until(async () => (await asks()) !== undefined);
      const url = new URL(String((await asks())!["files"]!["params"]!["url"]));
      const text = await (await fetch(url, { headers: { "x-principal": principal } })).text();
      const [token = ""] = [...text.matchAll(/name="token" value="([^"]*)"/g)].map(([, value = ""]) => value);
      return { principal, url, token };
    }),
  );
  const sockets: Socket[] = [];
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));

  /** Begins an upload. Resolves with the status if it is answered before it ends, or with undefined if it is being received. */
  async function begin({ principal, url, token }: (typeof pages)[number]): Promise<number | undefined> {
    const before = (await left()).length;
    const socket = connect(Number(url.port), url.hostname);
    sockets.push(socket);
    let answer = "";
    socket.on("data", (chunk) => (answer += String(chunk)));
    const part = (more: string, content: string) => `--cut\r\ncontent-disposition: form-data; ${more}\r\n\r\n${content}`;
    const head = [
      `POST ${url.pathname} HTTP/1.1`,
      `host: ${url.host}`,
      `x-principal: ${principal}`,
      "content-type: multipart/form-data; boundary=cut",
      "content-length: 1000000",
    ];
    socket.write(
      `${head.join("\r\n")}\r\n\r\n${part('name="token"', token)}\r\n${part('name="file"; filename="a.txt"', "a".repeat(10_000))}`,
    );
    await until(async () => answer !== "" || (await left()).length > before);
    return answer === "" ? undefined : Number(answer.split(" ")[1]);
  }

  const last = pages.at(-1)!;
  for (const page of pages.slice(0, WITH_ALL)) {
    for (let count = 0; count < OWN_UPLOADS_MAX; count += 1) expect(await begin(page)).toBeUndefined();
    expect(await begin(page)).toBe(429);
  }
  // The fewer places are left, the fewer a person may have of them (packages/core/callers/shares.ts).
  for (const page of pages.slice(WITH_ALL, -1)) {
    let refused: number | undefined;
    while (refused === undefined) refused = await begin(page);
    expect(refused).toBe((await left()).length < UPLOADS_MAX ? 429 : 503);
  }
  expect((await left()).length).toBe(UPLOADS_MAX);
  expect(await begin(last)).toBe(503);
  sockets[0]!.destroy();
  await until(async () => (await left()).length < UPLOADS_MAX);
  await expect.poll(() => begin(last)).toBeUndefined();
});
