/** Whether an address can be reached from the internet: not loopback, private, link-local, a cloud's metadata, or one of these in IPv6's clothes. */
import ipaddr from "ipaddr.js";

export function isPublicAddress(address: string): boolean {
  // `process` undoes IPv4 in IPv6; NAT64, 6to4 and the like have ranges of their own.
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "unicast";
}

/** Of the host of a url. A name may be anything until it is resolved. */
export function isPublicHost(host: string): boolean {
  // A dot at the end of a name says that it is whole.
  const bare = host.replace(/^\[|\]$|\.$/g, "");
  if (bare === "localhost" || bare.endsWith(".localhost")) return false;
  return !ipaddr.isValid(bare) || isPublicAddress(bare);
}
