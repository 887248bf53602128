import { list } from "./environment.ts";

export const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

const HOST = /^(\*|(\*\.)?[^\s/:*?#@[\]]+(:\d+)?|\[[\da-f:.]+\](:\d+)?)$/i;

/** No request would ever match. An address is easily written in place of its host. */
function hostProblem(item: string): string | undefined {
  if (HOST.test(item)) return undefined;
  return `${JSON.stringify(item)} is not a host: write a name or name:port without scheme and path, and IPv6 addresses in brackets`;
}

const ORIGIN = /^(\*|null|[a-z][a-z\d+.-]*:\/\/[^\s/*?#@]*)$/i;

/** The same for the origin of a web page, which has a scheme and no path. */
export function originProblem(item: string): string | undefined {
  if (ORIGIN.test(item)) return undefined;
  return `${JSON.stringify(item)} is not an origin: write scheme://host or scheme://host:port, without a path and its slash`;
}

/** For front ends, and for the operator's port of front ends and workers. */
export const hostsEnvironment = {
  PARLEY_ALLOWED_HOSTS: list(LOCAL_HOSTS, hostProblem).describe(
    "Host headers that are accepted: names, or name:port; *.example.com for every name below; * for all. Guards against DNS rebinding.",
  ),
};
