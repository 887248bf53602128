/** Checks addresses of providers and proxies. */
import { BlockList, isIP } from "node:net";

/** Whether `host` is this machine, judged by its name alone: DNS is not asked, so another name that resolves to this machine does not count. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return (
    name === "localhost" || name.endsWith(".localhost") || (isIP(name) !== 0 && LOOPBACK.check(name, isIP(name) === 6 ? "ipv6" : "ipv4"))
  );
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Why a provider must not be contacted at this address; undefined if it may be. `permit` names the setting that allows http. */
export function unsafeAddress(text: string, allowHttp: boolean, permit = "PARLEY_AUTH_ALLOW_HTTP"): string | undefined {
  const url = URL.parse(text);
  if (!url) return "is not an address";
  if (url.username !== "" || url.password !== "") return "must not contain a password";
  if (url.protocol === "https:" || (url.protocol === "http:" && (allowHttp || isLoopback(url.hostname)))) return undefined;
  return `must be https (for development, ${permit} allows http)`;
}

/** A set of addresses and ranges such as 10.0.0.0/8; undefined if an item is neither. */
export function addressRanges(items: readonly string[]): { readonly has: (address: string) => boolean } | undefined {
  const ranges = new BlockList();
  for (const item of items) {
    const [address = "", bits] = item.split("/");
    const family = isIP(address);
    const length = bits === undefined ? (family === 6 ? 128 : 32) : Number(bits);
    if (family === 0 || !/^\d{1,3}$/.test(bits ?? "0") || length > (family === 6 ? 128 : 32)) return undefined;
    ranges.addSubnet(address, length, family === 6 ? "ipv6" : "ipv4");
  }
  return {
    has(address) {
      // A dual-stack socket reports IPv4 addresses as ::ffff:10.0.0.1, which BlockList treats as the same address.
      const family = isIP(address);
      return family !== 0 && ranges.check(address, family === 6 ? "ipv6" : "ipv4");
    },
  };
}
