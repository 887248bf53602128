import type { FastifyRequest } from "fastify";
import { describe, expect, test } from "vitest";
import { clientAddress } from "./client-address.ts";

function from(remoteAddress: string | undefined, forwarded?: string | string[]): string | undefined {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return clientAddress({ headers, raw: { socket: { remoteAddress } } } as unknown as FastifyRequest);
}

describe("the address of a client", () => {
  test.each([
    ["203.0.113.7", undefined, "203.0.113.7"],
    ["::ffff:203.0.113.7", undefined, "::ffff:203.0.113.7"],
    // The client reaches the front end without a proxy, so it wrote the header itself.
    ["203.0.113.7", "198.51.100.1", "203.0.113.7"],
    ["10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["::ffff:172.31.0.9", "198.51.100.1", "198.51.100.1"],
    ["fd00::9", "made.up, 198.51.100.9,198.51.100.1", "198.51.100.1"],
    ["127.0.0.1", undefined, undefined],
    ["192.168.0.1", "198.51.100.1, unknown", undefined],
    [undefined, "198.51.100.1", undefined],
  ])("of %s with %s is %s", (peer, forwarded, address) => {
    expect(from(peer, forwarded)).toBe(address);
  });

  test("is its network's, where one client has many", () => {
    expect(from("2001:db8:7:1:a:b:c:d")).toBe(from("2001:db8:7:1::2"));
    expect(from("2001:db8::a:b:c:d")).toBe(from("2001:0DB8::e"));
    expect(from("2001:db8::a:b:c:d")).not.toBe(from("2001:db8:0:1::e"));
    expect(from("2001:db8:7:1::2")).not.toBe(from("2001:db8:7:2::2"));
  });
});
