import { describe, expect, test } from "vitest";
import { parseAddress, withoutPassword } from "./address.ts";

describe("what REDIS_URL may say", () => {
  test("one server", () => {
    expect(parseAddress("rediss://user:secret@h:6380/2")).toEqual({ type: "single", url: "rediss://user:secret@h:6380/2" });
  });

  test("sentinels, with the name of what they watch", () => {
    expect(parseAddress("redis-sentinel://app:p%40ss@a:1,b,[::1]:3/mymaster/2?sentinelPassword=s%26p&sentinelUsername=w")).toEqual({
      type: "sentinel",
      sentinels: [
        { host: "a", port: 1 },
        { host: "b", port: 26_379 },
        { host: "::1", port: 3 },
      ],
      name: "mymaster",
      login: { username: "app", password: "p@ss", db: 2 },
      sentinelLogin: { sentinelUsername: "w", sentinelPassword: "s&p" },
    });
  });

  test("nodes of a cluster, over TLS, with a password and no user", () => {
    expect(parseAddress("rediss-cluster://:secret@a:7000,b:7001")).toEqual({
      type: "cluster",
      nodes: [
        { host: "a", port: 7_000 },
        { host: "b", port: 7_001 },
      ],
      login: { password: "secret", tls: {} },
    });
  });

  test.each([
    ["another protocol", "http://h"],
    ["sentinels without a name", "redis-sentinel://a:1,b:2"],
    ["a cluster with a database", "redis-cluster://a:1/3"],
    ["a port that is none", "redis-cluster://a:70000"],
    ["an empty host", "redis-cluster://a:1,,b:2"],
    ["a host that is none", "redis-sentinel://a:b:c/mymaster"],
  ])("not %s", (_name, url) => {
    expect(parseAddress(url)).toBeUndefined();
  });

  test("is logged without user, password and query", () => {
    expect(withoutPassword("redis-sentinel://app:secret@a:1,b:2/mymaster?sentinelPassword=too")).toBe("redis-sentinel://a:1,b:2/mymaster");
    expect(withoutPassword("rediss://user:secret@redis.test:6380/2")).toBe("rediss://redis.test:6380/2");
    expect(withoutPassword("redis://:sec@ret@h")).toBe("redis://h");
    expect(withoutPassword("hunter2")).toBe("an address that is no URL");
  });
});
