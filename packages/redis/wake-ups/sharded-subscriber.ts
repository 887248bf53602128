/**
 * Subscriptions in a cluster with sharded pub/sub (Redis 7, Valkey): messages for a key's slot stay on the node that has the slot, whereas classic
 * PUBLISH goes to every node.
 *
 *   channel ──slot──▶ owner ──▶ one connection to each node that has channels, opened when the first is subscribed
 *
 * Channels whose messages may have been missed (after a lost connection, a failover or a moved slot) are reported as lost, and their listeners subscribe
 * again and read. The owners of slots are looked up when a connection opens or closes, when a node reports a moved slot, and at intervals.
 */
import type { Log } from "@parley/core";
import type { Redis } from "ioredis";
import type { Subscriber, SubscriberEvents } from "./wake-ups.ts";

export interface Node {
  readonly host: string;
  readonly port: number;
}

/** First slot, last slot, and the master that has them, as CLUSTER SLOTS says. */
type SlotRange = readonly [first: number, last: number, master: Node];

export interface ShardedSubscriberOptions {
  /** To the cluster, for looking up who owns what. */
  readonly redis: Redis;
  /** Opens a connection that comes back by itself, does not subscribe by itself, and is used for nothing else. */
  readonly openNode: (node: Node) => Redis;
  readonly log: Log;
}

const LOOK_EVERY_MS = 5_000;
/** A connection that went away is not looked after more often than this. */
const LOOK_AGAIN_MS = 200;

export function createShardedSubscriber({ redis, openNode, log }: ShardedSubscriberOptions): Subscriber & { close(): void } {
  let ranges: readonly SlotRange[] = [];
  const connections = new Map<string, Redis>();
  /** Where each channel is subscribed, or was to be. */
  const at = new Map<string, string>();
  let events: SubscriberEvents | undefined;
  let soon: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const slots = await redis.cluster("SLOTS");
    ranges = slots.flatMap(([first, last, master]): SlotRange[] => (master ? [[first, last, { host: master[0], port: master[1] }]] : []));
    const owners = new Set(ranges.map(([, , node]) => nameOf(node)));
    for (const [name, connection] of connections) {
      if (owners.has(name)) continue;
      connections.delete(name);
      connection.disconnect();
    }
  }

  /** Tells of the channels that are subscribed where they do not belong any more. */
  async function lookAfter(): Promise<void> {
    try {
      await look();
      const moved = new Set([...at].flatMap(([channel, node]) => (nameOf(ownerOf(channel)) === node ? [] : [channel])));
      if (moved.size > 0) events?.lost((channel) => moved.has(channel));
    } catch (error) {
      log.debug({ error: error instanceof Error ? error.message : String(error) }, "owners of slots not seen");
    }
  }

  function scheduleLook(): void {
    soon ??= setTimeout(() => {
      soon = undefined;
      void lookAfter();
    }, LOOK_AGAIN_MS);
    soon.unref();
  }

  function ownerOf(channel: string): Node | undefined {
    const slot = slotOf(channel);
    return ranges.find(([first, last]) => first <= slot && slot <= last)?.[2];
  }

  function connectionTo(node: Node): Redis {
    const name = nameOf(node);
    const known = connections.get(name);
    if (known) return known;
    const connection = openNode(node);
    connections.set(name, connection);
    connection.on("smessage", (channel: string, message: string) => events?.message(channel, message));
    connection.on("close", scheduleLook);
    let connectedBefore = connection.status === "ready";
    connection.on("ready", () => {
      if (connectedBefore) events?.lost((channel) => at.get(channel) === name);
      connectedBefore = true;
    });
    return connection;
  }

  /** One command takes channels of one slot. */
  function bySlot(channels: readonly string[]): readonly (readonly string[])[] {
    const groups = new Map<number, string[]>();
    for (const channel of channels) {
      const slot = slotOf(channel);
      const group = groups.get(slot);
      if (group) group.push(channel);
      else groups.set(slot, [channel]);
    }
    return [...groups.values()];
  }

  async function subscribeGroup(channels: readonly string[], triesLeft = 1): Promise<void> {
    const [first = ""] = channels;
    if (!ownerOf(first)) await look();
    const owner = ownerOf(first);
    if (!owner) throw new Error("no node of the cluster has the slot");
    for (const channel of channels) at.set(channel, nameOf(owner));
    try {
      await connectionTo(owner).ssubscribe(...channels);
    } catch (error) {
      // MOVED: the slot is somewhere else by now.
      if (triesLeft === 0) throw error;
      await look();
      await subscribeGroup(channels, triesLeft - 1);
    }
  }

  const timer = setInterval(() => void lookAfter(), LOOK_EVERY_MS);
  timer.unref();

  return {
    listenTo(given) {
      events = given;
    },
    async subscribe(channels) {
      await Promise.all(bySlot(channels).map((group) => subscribeGroup(group)));
    },
    async unsubscribe(channels) {
      const left = bySlot(channels).map(async (group) => {
        const connection = connections.get(at.get(group[0] ?? "") ?? "");
        for (const channel of group) at.delete(channel);
        await connection?.sunsubscribe(...group);
      });
      await Promise.all(left);
    },
    close() {
      clearInterval(timer);
      clearTimeout(soon);
      for (const connection of connections.values()) connection.disconnect();
    },
  };
}

function nameOf(node: Node | undefined): string {
  return node ? `${node.host}:${node.port}` : "";
}

/** The slot of a key or channel: CRC-16/XMODEM of its hash tag, if it has one (Redis Cluster specification, "Key distribution model"). */
export function slotOf(key: string): number {
  const tag = /\{([^}]+)\}/.exec(key)?.[1] ?? key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0x3fff;
}
