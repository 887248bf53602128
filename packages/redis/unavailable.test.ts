import { describe, expect, test } from "vitest";
import { reached } from "./unavailable.ts";

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: "ReplyError" });
}

describe("a Redis that cannot serve", () => {
  test.each([
    [reply("OOM command not allowed when used memory > 'maxmemory'. script: 4ca238f6, on @user_script:12."), "Redis cannot serve now: OOM"],
    [reply("READONLY You can't write against a read only replica."), "Redis cannot serve now: READONLY"],
    [new Error("Command timed out"), "Redis did not answer in time"],
    [new Error("Connection is closed."), "Redis cannot be reached"],
    [Object.assign(new Error("connect ECONNREFUSED 10.0.0.5:6379"), { code: "ECONNREFUSED" }), "Redis cannot be reached"],
  ])("is described in our words, with Redis' own as the cause", async (cause, message) => {
    await expect(reached(Promise.reject(cause))).rejects.toMatchObject({ code: "UNAVAILABLE", message, cause });
  });

  test("is not confused with any other error", async () => {
    const defect = reply("WRONGTYPE Operation against a key holding the wrong kind of value");
    await expect(reached(Promise.reject(defect))).rejects.toBe(defect);
    expect(await reached(Promise.resolve(1))).toBe(1);
  });
});
