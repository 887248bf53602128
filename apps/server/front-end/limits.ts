/** The limits and times of a front end. `config.ts` reads them from the environment; docs/limits.md describes them. */
export interface Limits {
  readonly bodyBytesMax: number;
  readonly bodyDepthMax: number;
  readonly bodyValuesMax: number;
  readonly connectionsMax: number;
  readonly unreadBytesMax: number;
  readonly waitsMax: number;
  readonly ownWaitsMax: number;
  readonly listensMax: number;
  readonly listenTasksMax: number;
  readonly listenResourcesMax: number;
  readonly streamsMax: number;
  readonly ownSubscriptionsMax: number;
  readonly allSubscriptionsMax: number;
  readonly sessionTasksMax: number;
  readonly sessionSubscriptionsMax: number;
  readonly sessionWaitsMax: number;
  readonly fileBytesMax: number;
  readonly batchMax: number;
  readonly batchWaitsMax: number;
}

/** All in milliseconds. */
export interface Times {
  readonly callTimeoutMs: number;
  readonly askFirstTimeoutMs: number;
  readonly streamAfterMs: number;
  readonly keepAliveMs: number;
  readonly stallTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly pollIntervalMs: number;
  readonly pollIntervalMaxMs: number;
  readonly listTtlMs: number;
  readonly sessionTtlMs: number;
  readonly resumableAfterMs: number;
  readonly retryMs: number;
  readonly taskGraceMs: number;
  readonly shutdownDelayMs: number;
  readonly shutdownTimeoutMs: number;
}
