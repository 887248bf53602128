/** Addresses of providers and proxies. */
import { BlockList, isIP } from "node:net";

/** By name, since DNS is not asked: a name that leads here but says otherwise is another machine. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return (
    name === "localhost" || name.endsWith(".localhost") || (isIP(name) !== 0 && LOOPBACK.check(name, isIP(name) === 6 ? "ipv6" : "ipv4"))
  );
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** What is wrong with asking a provider there; undefined if nothing is. `permit` is what allows http. */
export function unsafeAddress(text: string, allowHttp: boolean, permit = "PARLEY_AUTH_ALLOW_HTTP"): string | undefined {
  const url = URL.parse(text);
  if (!url) return "is no address";
  if (url.username !== "" || url.password !== "") return "must not hold a password";
  if (url.protocol === "https:" || (url.protocol === "http:" && (allowHttp || isLoopback(url.hostname)))) return undefined;
  return `must be https (${permit} allows http, for development)`;
}

/** Undefined for what is neither an address nor a range. */
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
      // A socket for both families shows IPv4 as ::ffff:10.0.0.1; BlockList knows that it is the same.
      const family = isIP(address);
      return family !== 0 && ranges.check(address, family === 6 ? "ipv6" : "ipv4");
    },
  };
}
