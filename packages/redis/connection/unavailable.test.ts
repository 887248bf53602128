import { ParleyError } from "@parley/core";
import { describe, expect, test } from "vitest";
import { originOf, reached } from "./unavailable.ts";

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: "ReplyError" });
}

describe("a Redis that cannot serve", () => {
  test.each([
    [
      reply("OOM command not allowed when used memory > 'maxmemory'. script: 4ca238f6, on @user_script:12."),
      "Redis has used up its memory (maxmemory) and accepts no writes until some is free",
    ],
    [
      reply("READONLY You can't write against a read only replica."),
      "Redis is a replica and accepts no writes: a failover is under way, or REDIS_URL names a replica",
    ],
    [
      reply("MISCONF Errors writing to the AOF file: No space left on device"),
      "Redis cannot write to its disk and accepts no writes until it can (MISCONF)",
    ],
    [reply("LOADING Redis is loading the dataset in memory"), "Redis cannot serve now: LOADING"],
    [new Error("Command timed out"), "Redis did not answer in time"],
    [new Error("Connection is closed."), "Redis cannot be reached"],
    [Object.assign(new Error("connect ECONNREFUSED 10.0.0.5:6379"), { code: "ECONNREFUSED" }), "Redis cannot be reached"],
  ])("is described in our words, with Redis' own as the cause", async (cause, message) => {
    await expect(reached(Promise.reject(cause))).rejects.toMatchObject({ code: "UNAVAILABLE", message, cause });
  });

  const withCode = (code: unknown) => Object.assign(new Error("no"), { code });

  test.each(["LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "OOM", "MISCONF", "BUSY"])(
    "is recognised by its reply: %s",
    async (word) => {
      await expect(reached(Promise.reject(reply(`${word} now`)))).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(/^Redis /),
      });
    },
  );

  test.each([
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Reached the max retries per request limit",
    "None of startup nodes is available",
    "Too many Cluster redirections",
    "Cluster isn't ready",
    "Cluster is disconnected",
    "Node is disconnected",
    "All sentinels are unreachable",
    "Failed to refresh slots cache.",
  ])("is recognised by what the client says of its connection: %s", async (message) => {
    await expect(reached(Promise.reject(new Error(message)))).rejects.toMatchObject({ message: "Redis cannot be reached" });
  });

  test.each([
    reply("WRONGTYPE Operation against a key holding the wrong kind of value"),
    reply("ERR OOM is not the first word"),
    reply("BUSYGROUP Consumer Group name already exists"),
    new TypeError("cannot read properties of undefined"),
    new Error("the Connection is closed"),
    withCode("ERR_INVALID_ARG_TYPE"),
    withCode("NOT_ECONNREFUSED"),
    withCode("ENOENT_LATER"),
    withCode(["ECONNREFUSED"]),
    "no error at all",
  ])("is not confused with any other error: %s", async (defect) => {
    await expect(reached(Promise.reject(defect as Error))).rejects.toBe(defect);
  });

  test("is none if it answers", async () => {
    expect(await reached(Promise.resolve(1))).toBe(1);
  });
});

describe("the origin of an error, for the log", () => {
  test.each([
    [reply("NOPERM this user has no permissions to run the 'evalsha' command"), "NOPERM"],
    [reply("ERR user_script:3: Alice"), "ERR"],
    [new ParleyError("UNAVAILABLE", "Redis cannot serve now: OOM", { cause: reply("OOM command not allowed") }), "OOM"],
  ])("has the word that Redis' reply began with: %s", (error, word) => {
    expect(originOf(error)).toEqual({ error: error.name, stack: expect.any(Array), reply: word });
  });

  test.each([new SyntaxError("ALICE is not valid JSON"), reply("alice"), "ALICE"])("has no other word: %s", (error) => {
    expect(JSON.stringify(originOf(error))).not.toMatch(/alice/i);
  });
});
