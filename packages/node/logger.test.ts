import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("an error is logged as its name, message, causes and frames, without members that libraries add", async () => {
  const module = JSON.stringify(new URL("logger.ts", import.meta.url).href);
  const script = `
    import { createLogger } from ${module};
    const error = new TypeError("WRONGTYPE", { cause: new Error("of the socket") });
    createLogger("test", "info").error({ defectId: "d-1", err: Object.assign(error, { command: { args: ["SECRET"] } }) }, "request failed");
  `;
  const { stderr } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  const line = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  expect(line).toMatchObject({
    msg: "request failed",
    defectId: "d-1",
    err: { error: "TypeError", detail: "WRONGTYPE", cause: { detail: "of the socket" } },
  });
  expect(stderr).not.toContain("SECRET");
});

test("the fields of one line do not appear in other lines of the same work", async () => {
  const module = JSON.stringify(new URL("logger.ts", import.meta.url).href);
  const script = `
    import { createLogger, withLogFields } from ${module};
    const log = createLogger("test", "info");
    withLogFields({ requestId: "r-1" }, () => {
      log.error({ defectId: "d-1", err: new Error("of the first line") }, "request failed");
      log.info({ status: 200 }, "request answered");
    });
  `;
  const { stderr } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  const { time: _, pid: __, ...line } = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  expect(line).toEqual({ level: 30, name: "test", requestId: "r-1", status: 200, msg: "request answered" });
});
