/** A process that owns an embedded server on the directory it is given, tells its url, and stays until it is killed. */
import { startEmbeddedRedis } from "./embedded.ts";

const server = await startEmbeddedRedis({ dataDir: process.argv[2] ?? "" });
process.send?.(server.url);
process.on("disconnect", () => void server.close());
