import { describe, expect, test } from "vitest";
import { parseAddress, withoutPassword } from "./address.ts";

describe("valid forms of REDIS_URL", () => {
  test("one server", () => {
    expect(parseAddress("rediss://user:secret@h:6380/2")).toEqual({ type: "single", url: "rediss://user:secret@h:6380/2" });
  });

  test("sentinels, with the name of their master", () => {
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

  test("one server, in every form", () => {
    for (const url of ["redis://h", "redis://127.0.0.1:6379/0", "rediss://[::1]:1", "redis://%75ser:100%25@h"])
      expect(parseAddress(url)).toEqual({ type: "single", url });
  });

  test("one sentinel or node, with the default port", () => {
    expect(parseAddress("redis-sentinel://a/mymaster")).toStrictEqual({
      type: "sentinel",
      sentinels: [{ host: "a", port: 26_379 }],
      name: "mymaster",
      login: {},
      sentinelLogin: {},
    });
    expect(parseAddress("redis-cluster://node-1.test,10.0.0.7:7000")).toStrictEqual({
      type: "cluster",
      nodes: [
        { host: "node-1.test", port: 6_379 },
        { host: "10.0.0.7", port: 7_000 },
      ],
      login: {},
    });
    expect(parseAddress("redis-cluster://a/")).toStrictEqual({ type: "cluster", nodes: [{ host: "a", port: 6_379 }], login: {} });
  });

  test("sentinels over TLS, with a database, a user without a password, and a password for the sentinels alone", () => {
    const address = parseAddress("rediss-sentinel://us%20er@a:65535,[fe80::1]/my.master/12/?sentinelPassword=p&other=1");
    expect(address).toStrictEqual({
      type: "sentinel",
      sentinels: [
        { host: "a", port: 65_535 },
        { host: "fe80::1", port: 26_379 },
      ],
      name: "my.master",
      login: { username: "us er", db: 12, tls: {} },
      sentinelLogin: { sentinelPassword: "p" },
    });
  });

  test.each([
    ["what only looks like one", "xredis://h"],
    ["a server that is invalid", "redis://h:port"],
    ["sentinels behind something else", "xredis-sentinel://a/mymaster"],
    ["a port that is just too large", "redis-cluster://a:65536"],
    ["a port of six digits", "redis-cluster://a:000001"],
    ["brackets that are not closed", "redis-cluster://[::1"],
    ["something behind the brackets", "redis-cluster://[::1]x"],
    ["something before the brackets", "redis-cluster://x[::1]:1"],
    ["a database that is not a number", "redis-sentinel://a/mymaster/x"],
    ["more than a database", "redis-sentinel://a/mymaster/1/2"],
    ["a cluster with a name", "redis-cluster://a/name"],
    ["another protocol", "http://h"],
    ["sentinels without a name", "redis-sentinel://a:1,b:2"],
    ["a cluster with a database", "redis-cluster://a:1/3"],
    ["a port that is invalid", "redis-cluster://a:70000"],
    ["an empty host", "redis-cluster://a:1,,b:2"],
    ["a host that is invalid", "redis-sentinel://a:b:c/mymaster"],
    ["a password with a % that is not encoded", "redis://user:100%@h"],
    ["a user with a % that is not encoded", "rediss://%zz:secret@h"],
    ["a cluster's password with a % that is not encoded", "redis-cluster://user:100%@a:1"],
    ["a sentinel's user with a % that is not encoded", "redis-sentinel://%zz@a:1/mymaster"],
  ])("not %s", (_name, url) => {
    expect(parseAddress(url)).toBeUndefined();
  });

  test("is logged without user, password and query", () => {
    expect(withoutPassword("redis-sentinel://app:secret@a:1,b:2/mymaster?sentinelPassword=too")).toBe("redis-sentinel://a:1,b:2/mymaster");
    expect(withoutPassword("rediss://user:secret@redis.test:6380/2")).toBe("rediss://redis.test:6380/2");
    expect(withoutPassword("redis://:sec@ret@h")).toBe("redis://h");
    expect(withoutPassword("redis://h?password=secret")).toBe("redis://h");
    expect(withoutPassword("redis://127.0.0.1:6379")).toBe("redis://127.0.0.1:6379");
    expect(withoutPassword("hunter2")).toBe("an address that is not a URL");
  });
});
