/** A large file passes through a small front end, and a person uploads a file with a browser. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, type TaskState } from "../../bench/client.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { reaches } from "../support/reaches.ts";

const command = findChromium();
const GIGABYTE = 2 ** 30;

let deployment: Deployment;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-uploads-"));
  deployment = await startDeployment({
    workers: 1,
    tools: [join(import.meta.dirname, "tools/weigh.ts")],
    env: { PARLEY_FILES: `dir:${directory}`, PARLEY_REQUEST_TIMEOUT: "5m", NODE_OPTIONS: "--max-old-space-size=64" },
  });
});

afterAll(async () => {
  await deployment?.close();
  await rm(directory, { recursive: true });
});

async function asked(): Promise<{ readonly taskId: string; readonly url: string }> {
  const client = createClient(deployment.url, 1);
  const { taskId } = await client.call("weigh", {});
  client.close();
  const { inputRequests } = await reaches(deployment.url, taskId, (task) => task.inputRequests?.["file"] !== undefined);
  return { taskId, url: (inputRequests as { file: { params: { url: string } } }).file.params.url };
}

const resultOf = ({ result }: TaskState) => JSON.parse(result?.content?.[0]?.text ?? "{}") as Record<string, unknown>;

test("a gigabyte goes through a front end with 64 MB of heap, and the tool reads all of it", { timeout: 300_000 }, async () => {
  const { taskId, url } = await asked();
  const page = await (await fetch(url)).text();
  const fields = [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].slice(0, 2);
  const part = (disposition: string, text: string) => `--part\r\ncontent-disposition: form-data; ${disposition}\r\n${text}`;
  const head = [
    ...fields.map(([, name, value]) => part(`name="${name}"`, `\r\n${value}\r\n`)),
    part('name="file"; filename="large.bin"', "content-type: application/octet-stream\r\n\r\n"),
  ].join("");
  const chunk = Buffer.alloc(2 ** 20, "parley ");
  const hash = createHash("sha256");
  function* body(): Generator<Buffer> {
    yield Buffer.from(head);
    for (let sent = 0; sent < GIGABYTE; sent += chunk.length) {
      hash.update(chunk);
      yield chunk;
    }
    yield Buffer.from("\r\n--part--\r\n");
  }
  const outgoing = request(url, { method: "POST", headers: { "content-type": "multipart/form-data; boundary=part" } });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    outgoing.once("response", (response) => (response.resume(), resolve(response.statusCode)));
    outgoing.once("error", reject);
  });
  await pipeline(Readable.from(body()), outgoing);
  expect(await answered).toBe(200);

  const sha256 = hash.digest("hex");
  expect(resultOf(await reaches(deployment.url, taskId, ({ status }) => status === "completed"))).toMatchObject({
    name: "large.bin",
    size: GIGABYTE,
    sha256,
    read: sha256,
  });
  for (const { pid } of deployment.frontEnds) {
    const peakKb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    console.log(`front end: ${Math.round(peakKb / 1_024)} MB at its peak`);
    expect(peakKb).toBeLessThan(400 * 1_024);
  }
});

test.skipIf(command === undefined)("a person uploads a file by a browser without script", async () => {
  const { taskId, url } = await asked();
  const path = join(directory, "note.txt");
  await writeFile(path, "by hand");
  const browser = await startChromium(command ?? "");
  try {
    const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await page.goto(url);
    await page.getByRole("button", { name: "Upload" }).focus();
    await page.getByLabel("File").setInputFiles(path);
    const folder = process.env["PAGES_SHOTS"];
    if (folder !== undefined) await page.screenshot({ path: join(folder, "file.png") });
    await page.getByRole("button", { name: "Upload" }).press("Enter");
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
  } finally {
    await browser.close();
  }
  expect(resultOf(await reaches(deployment.url, taskId, ({ status }) => status === "completed"))).toMatchObject({
    name: "note.txt",
    size: 7,
    type: "text/plain",
  });
});
