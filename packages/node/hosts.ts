import { list } from "./environment.ts";

export const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/** For front ends, and for the operator's port of front ends and workers. */
export const hostsEnvironment = {
  PARLEY_ALLOWED_HOSTS: list(LOCAL_HOSTS).describe(
    "Host headers that are accepted: names, or name:port; *.example.com for every name below; * for all. Guards against DNS rebinding.",
  ),
};
