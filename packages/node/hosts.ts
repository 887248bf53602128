import { list } from "./environment.ts";

export const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/** Front ends and workers alike guard what they listen on. */
export const hostsEnvironment = {
  PARLEY_ALLOWED_HOSTS: list(LOCAL_HOSTS).describe(
    "Host headers that are accepted: names, or name:port; * for all. Guards against DNS rebinding.",
  ),
};
