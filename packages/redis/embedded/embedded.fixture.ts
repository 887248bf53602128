/** A process that owns an embedded server on the given directory, prints its URL, and runs until it is killed. */
import { startEmbeddedRedis } from "./embedded.ts";

const server = await startEmbeddedRedis({ dataDir: process.argv[2] ?? "" });
process.send?.(server.url);
process.on("disconnect", () => void server.close());
