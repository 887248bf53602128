/**
 * Where a request without a caller comes from, to share places among clients. Never proof of identity.
 *
 * Proxies are in private networks and append the client's address to X-Forwarded-For, so the nearest proxy wrote its last item. A
 * client that reaches a front end from such a network directly can make an address up, and thus take more places than its share.
 */
import { BlockList, isIP } from "node:net";
import type { FastifyRequest } from "fastify";

const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["127.0.0.0", 8] as const,
  ["10.0.0.0", 8] as const,
  ["172.16.0.0", 12] as const,
  ["192.168.0.0", 16] as const,
])
  PRIVATE.addSubnet(network, bits, "ipv4");
PRIVATE.addAddress("::1", "ipv6");
PRIVATE.addSubnet("fc00::", 7, "ipv6");

/** Undefined if only a proxy is known. */
export function clientAddress({ headers, raw }: Pick<FastifyRequest, "headers" | "raw">): string | undefined {
  const peer = raw.socket.remoteAddress ?? "";
  if (!isPrivate(peer)) return networkOf(peer);
  const forwarded = [headers["x-forwarded-for"] ?? []].flat().join().split(",").at(-1)?.trim() ?? "";
  return networkOf(forwarded);
}

function isPrivate(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && PRIVATE.check(address, family === 6 ? "ipv6" : "ipv4");
}

/** One client has all addresses of its IPv6 network. */
function networkOf(address: string): string | undefined {
  switch (isIP(address)) {
    case 4:
      return address;
    case 6:
      return address.includes(".") ? address : groupsOf(address).slice(0, 4).join(":");
    default:
      return undefined;
  }
}

/** The eight groups of an IPv6 address. `::` stands for as many zeros as are missing: it may fall into the network. */
function groupsOf(address: string): readonly string[] {
  const [left = [], right] = address.split("::").map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = right ? 8 - left.length - right.length : 0;
  const groups = [...left, ...Array.from({ length: zeros }, () => "0"), ...(right ?? [])];
  return groups.map((group) => Number.parseInt(group, 16).toString(16));
}
