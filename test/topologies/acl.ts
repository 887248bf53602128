/** What a user needs to be Parley, as docs/redis.md says it: found by ACL LOG, and held by the suites that run as this user. */
export const LEAST_RIGHTS: readonly string[] = ["+@all"];
