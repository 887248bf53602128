/**
 * ioredis' connector to the master that the sentinels name, made to survive a failover that is announced while it
 * connects.
 *
 * Its failover detector stays subscribed after the watched connection is lost, until the next one is established. If
 * a failover is announced in between, while a sentinel is asked for the new master, the detector aborts the attempt,
 * and an aborted attempt ends the connection ("Connection is closed") until the process restarts (redis/ioredis#1683
 * looks the same).
 */
import { type SentinelConnectionOptions, SentinelConnector } from "ioredis";

export class LastingSentinelConnector extends SentinelConnector {
  /** ioredis passes the options of the connection and types them as unknown. */
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }

  override async connect(...parameters: Parameters<SentinelConnector["connect"]>): ReturnType<SentinelConnector["connect"]> {
    // Private to ioredis, and absent before the first connection.
    const detector = Reflect.get(this, "failoverDetector") as { cleanup(): void } | null | undefined;
    detector?.cleanup();
    // Each time would leave a listener and a timer, and a failover takes many attempts.
    Reflect.set(this, "failoverDetector", null);
    return await super.connect(...parameters);
  }

  /**
   * Called for every reply of a server that became a replica. Once is enough, and each call would leave a listener
   * and a timer. `connecting` stays true from `connect` to `disconnect`, and not only while it connects.
   */
  override disconnect(): void {
    if (this.connecting) super.disconnect();
  }
}
