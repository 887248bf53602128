/**
 * ioredis' way to the master that the sentinels name, made to outlive a failover that is announced while it is on its way.
 *
 * Its failover detector stays subscribed when the connection that it watched is lost, until the next one stands. Told of the failover in
 * between, while a sentinel is asked for the new master, it ends the attempt, and an attempt that was ended is the end of the connection:
 * "Connection is closed", until the process is started anew (redis/ioredis#1683 looks the same).
 */
import { type SentinelConnectionOptions, SentinelConnector } from "ioredis";

export class LastingSentinelConnector extends SentinelConnector {
  /** ioredis hands over the options of the connection, and types them as unknown. */
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }

  override async connect(...parameters: Parameters<SentinelConnector["connect"]>): ReturnType<SentinelConnector["connect"]> {
    // Private to ioredis, and absent before the first connection.
    const detector = Reflect.get(this, "failoverDetector") as { cleanup(): void } | null | undefined;
    detector?.cleanup();
    return await super.connect(...parameters);
  }

  /** Asked for by every reply of a server that became a replica: once is enough, and each would leave a listener and a timer. */
  override disconnect(): void {
    if (this.connecting || !this.stream?.writableEnded) super.disconnect();
  }
}
