/**
 * The ids of all tasks, found by their keys, for operators. There is no index of tasks that are over: it would cost each a sixth of what it keeps,
 * for something that is rarely done. So the keys of all nodes are scanned, in batches that Redis serves between other requests.
 */
import { Cluster, type Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import { type Keys, partitionOf } from "../keys.ts";

/** Keys that Redis looks at between two other requests. */
const SCANNED = 1_000;

/** In no order; an id may come twice. Throws UNAVAILABLE. */
export async function* scanTasks(redis: Redis | Cluster, { prefix }: Pick<Keys, "prefix">): AsyncGenerator<readonly string[]> {
  const nodes: readonly Redis[] = redis instanceof Cluster ? redis.nodes("master") : [redis];
  for (const node of nodes) {
    let cursor = "0";
    do {
      const [next, found] = await reached(node.scan(cursor, "MATCH", `${globOf(prefix)}:{p*}:task:*`, "COUNT", SCANNED));
      // Keys of a task's journal and feed have more parts.
      yield found.map((key) => key.slice(key.lastIndexOf(":") + 1)).filter((id) => partitionOf(id) !== undefined);
      cursor = next;
    } while (cursor !== "0");
  }
}

/** A pattern that matches this text alone. */
function globOf(text: string): string {
  return text.replaceAll(/[*?[\]\\]/g, String.raw`\$&`);
}
