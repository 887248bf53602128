/**
 * Files that people upload on pages: which are kept, which are refused, and that refused files leave nothing behind. Holds for every file
 * store: apps/server/uploads.test.ts uses a directory, uploads-s3.e2e.test.ts a bucket.
 */
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { type FileStore, sweepFiles } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../support/until.ts";
import { rpc } from "../../apps/server/client.fixture.ts";
import { deploy, type Front } from "../../apps/server/deployment.fixture.ts";
import { anonymous } from "../../apps/server/front-end/caller.ts";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const PDF = Buffer.from("%PDF-1.7\n%âãÏÓ\n");

const take = defineTool({
  name: "take",
  input: z.object({ accept: z.array(z.string()).optional(), maxBytes: z.number().optional(), count: z.number().optional() }),
  async run({ accept, maxBytes, count = 2 }, ctx) {
    const wanted = { ...(accept && { accept }), ...(maxBytes !== undefined && { maxBytes }) };
    const files = await ctx.file("files", { message: "Your files?", count, ...wanted });
    const read = await ctx.step("read", () =>
      Promise.all(files.map(async (file) => (await new Response(await ctx.openFile(file)).bytes()).length)),
    );
    return JSON.stringify({ files, read });
  },
});

const asking = catalogue([
  take,
  defineTool({ name: "delegate", input: z.object({}), run: async (_input, ctx) => String(await ctx.call(take, {}, { key: "child" })) }),
]);

export interface Kept {
  readonly files: FileStore;
  /** Names of the stored files without their path. Unfinished ones end in `.part`. */
  left(): Promise<readonly string[]>;
}

export function describeUploads(name: string, open: () => Kept): void {
  const left = () => open().left();

  async function asked(args: object = {}, { name = "take", key = "files" } = {}) {
    const { files } = open();
    const deployment = await deploy({ catalogue: asking, fronts: 2, files, authenticate: anonymous });
    const [here, there] = deployment.fronts as [Front, Front];
    const taskId = String((await rpc(here, "tools/call", { name, arguments: args })).result!["taskId"]);
    const get = async () => (await rpc(there, "tasks/get", { taskId })).result!;
    await until(async () => (await get())["status"] === "input_required");
    const url = String((await get())["inputRequests"]![key]!["params"]!["url"]);
    const page = await (await fetch(url)).text();
    const fields = [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
      .slice(0, 2)
      .map(([, name = "", value = ""]) => [name, value] as const);
    async function upload(given: readonly File[], more: Record<string, string> = {}, to = there) {
      const body = new FormData();
      for (const [name, value] of Object.entries({ ...Object.fromEntries(fields), ...more })) body.append(name, value);
      for (const file of given) body.append("file", file);
      body.append("action", "accept");
      const response = await fetch(url.replace(/^http:\/\/[^/]+/, new URL(to.url).origin), { method: "POST", body });
      const text = await response.text();
      return { status: response.status, title: /<h1>([^<]*)/.exec(text)?.[1], problem: /role="alert">([^<]*)/.exec(text)?.[1] };
    }
    const result = async () => {
      await until(async () => (await get())["status"] === "completed");
      return JSON.parse(String((await get())["result"]!["content"]![0]!["text"])) as {
        files: { id: string; name: string }[];
        read: number[];
      };
    };
    return { ...deployment, files, here, taskId, get, url, page, fields, upload, result };
  }

  const png = (name = "a.png", type = "image/png") => new File([PNG], name, { type });

  describe(`files in ${name}`, () => {
    test("are uploaded to any front end and read by the tool, which receives their names, types, sizes and digests", async () => {
      const { files, upload, result, taskId, services } = await asked();
      expect(await upload([png("Bild ä.png"), new File(["a,b\n"], "t.csv", { type: "text/csv" })])).toMatchObject({
        status: 200,
        title: "Thank you",
      });
      const { files: given, read } = await result();
      expect(given).toEqual([
        {
          id: expect.any(String),
          name: "Bild ä.png",
          type: "image/png",
          size: PNG.length,
          sha256: createHash("sha256").update(PNG).digest("hex"),
        },
        { id: expect.any(String), name: "t.csv", type: "text/csv", size: 4, sha256: createHash("sha256").update("a,b\n").digest("hex") },
      ]);
      expect(read).toEqual([PNG.length, 4]);
      expect((await left()).toSorted()).toEqual(given.map(({ id }) => id).toSorted());
      // Another task's id does not open the file.
      await expect(files.open(`${taskId}x`, given[0]?.id ?? "")).rejects.toMatchObject({ code: "FILE_GONE" });
      await expect(files.open(taskId, "../../secret")).rejects.toMatchObject({ code: "FILE_GONE" });
      // Files belong to their task and are deleted with it.
      expect(await sweepFiles(services, -60_000)).toBe(0);
      expect(await sweepFiles({ ...services, store: { ...services.store, load: async () => undefined } }, -60_000)).toBe(1);
      expect(await left()).toEqual([]);
    });

    test("are uploaded for a child, and are deleted with it", async () => {
      const { files, upload, result, services } = await asked({}, { name: "delegate", key: "child:files" });
      expect(await upload([png()])).toMatchObject({ status: 200, title: "Thank you" });
      expect((await result()).read).toEqual([PNG.length]);
      const gone = { ...services, files, store: { ...services.store, load: async () => undefined } };
      expect(await sweepFiles(gone, -60_000)).toBe(1);
      expect(await left()).toEqual([]);
    });

    test.each([
      ["../../../etc/passwd", "passwd"],
      ["C:\\Users\\ann\\a.png", "a.png"],
      ["a\u202egnp.exe", "agnp.exe"],
      ["...", "file"],
      [`${"x".repeat(300)}.png`, `${"x".repeat(196)}.png`],
    ])("have names that are safe in a list: %s", async (name, shown) => {
      const { upload, result } = await asked();
      await upload([new File([PNG], name)]);
      expect((await result()).files[0]?.name).toBe(shown);
    });

    test("are limited in size, at the limit and one byte beyond, and nothing is left of a larger one", async () => {
      const { upload, get, result } = await asked({ maxBytes: 100_000 });
      const of = (bytes: number) => new File([Buffer.alloc(bytes, "a")], "a.txt", { type: "text/plain" });
      expect(await upload([png(), of(100_001)])).toMatchObject({
        status: 422,
        problem: "a.txt is larger than 97.7 kB. Nothing was stored.",
      });
      expect(await left()).toEqual([]);
      expect((await get())["status"]).toBe("input_required");
      expect(await upload([of(100_000)])).toMatchObject({ status: 200 });
      expect((await result()).read).toEqual([100_000]);
    });

    test("are limited in number, and at least one is required", async () => {
      const { upload } = await asked();
      expect(await upload([png(), png(), png()])).toMatchObject({
        status: 422,
        problem: "At most 2 files are accepted. Nothing was stored.",
      });
      expect(await upload([new File([], "", { type: "application/octet-stream" })])).toMatchObject({
        status: 422,
        problem: "Choose a file, or decline.",
      });
      expect(await upload([])).toMatchObject({ status: 422, problem: "Choose a file, or decline." });
      expect(await left()).toEqual([]);
    });

    test.each([
      [["image/*"], png(), true],
      [[".png"], png("a.jpg"), true],
      [["image/png"], new File([PDF], "a.png", { type: "image/png" }), false],
      [["image/png"], new File(["no picture"], "a.png", { type: "image/png" }), false],
      [[".pdf"], new File([Buffer.from("MZ\u0090\u0000\u0003", "latin1")], "a.pdf", { type: "application/pdf" }), false],
      [[".pdf"], new File([PDF], "a.pdf"), true],
      [[".csv", "text/plain"], new File(["a,b"], "a.csv", { type: "text/csv" }), true],
      [[".csv"], png("a.csv", "text/csv"), false],
      [["text/*"], new File(["a"], "a.txt", { type: "text/plain; charset=utf-8" }), true],
      [["text/*"], new File(["a"], "a.txt", { type: "<script>" }), false],
    ])("have the type of their content, not the one that is declared: %j %o %s", async (accept, file, taken) => {
      const { upload } = await asked({ accept });
      expect(await upload([file])).toMatchObject(
        taken ? { status: 200 } : { status: 422, problem: `${file.name} does not have an accepted type. Nothing was stored.` },
      );
      expect(await left()).toHaveLength(taken ? 1 : 0);
    });

    test("of a question that was answered in the meantime are not kept, and the second person is notified", async () => {
      const { upload, result } = await asked();
      const sent = await Promise.all([upload([png("1.png")]), upload([png("2.png")]), upload([png("3.png")])]);
      expect(sent.map(({ title }) => title).toSorted()).toEqual(["Already done", "Already done", "Thank you"]);
      expect(await left()).toEqual((await result()).files.map(({ id }) => id));
    });

    test("are not kept without the token of the page, or before it", async () => {
      const { upload, get } = await asked();
      expect(await upload([png()], { token: "A".repeat(22) })).toMatchObject({ status: 409, title: "Out of date" });
      expect(await left()).toEqual([]);
      expect((await get())["status"]).toBe("input_required");
    });

    test("that are cut off leave nothing, and the question stays open", async () => {
      const { url, fields, get, upload } = await asked();
      const { host, hostname, port, pathname, search } = new URL(url);
      const parts = fields.map(([name, value]) => `--cut\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join("");
      const head = `${parts}--cut\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n`;
      const socket = connect(Number(port), hostname);
      socket.write(
        `POST ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: multipart/form-data; boundary=cut\r\ncontent-length: 10000000\r\n\r\n${head}`,
      );
      socket.write("a".repeat(6_000_000));
      await until(async () => (await left()).some((each) => each.endsWith(".part")));
      socket.destroy();
      await until(async () => (await left()).length === 0);
      expect((await get())["status"]).toBe("input_required");
      expect(await upload([png()])).toMatchObject({ status: 200 });
    });

    test.each(["multipart/form-data", "multipart/form-data; boundary=x"])("in a malformed form are refused: %s", async (type) => {
      const { url, get } = await asked();
      const response = await fetch(url, { method: "POST", headers: { "content-type": type }, body: "nothing of that kind" });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      expect((await get())["status"]).toBe("input_required");
      expect(await left()).toEqual([]);
    });

    test("with an action other than the form's are not kept: the first action counts", async () => {
      const { upload, result } = await asked();
      expect(await upload([png()], { action: "decline" })).toMatchObject({ status: 400, title: "Not understood" });
      expect(await left()).toEqual([]);
      expect(await upload([png()])).toMatchObject({ status: 200 });
      expect((await result()).read).toEqual([PNG.length]);
    });

    test("are declined with the other button", async () => {
      const { url, fields, get } = await asked();
      const body = new URLSearchParams([...fields.map(([name, value]) => [name, value]), ["action", "decline"]] as [string, string][]);
      expect((await fetch(url, { method: "POST", body })).status).toBe(200);
      await until(async () => (await get())["status"] === "completed");
    });
  });
}
