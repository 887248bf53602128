import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that Linux gives to outgoing connections (32768 and above), so that none of those takes a port before the caller does. */
const FIRST = 10_000;
/** For each worker of vitest, of which at most eight run at once: files that run beside each other find different ports. */
const PORTS_EACH = 2_800;
const WORKERS = 8;

const first = FIRST + (Number(process.env["VITEST_POOL_ID"] ?? 0) % WORKERS) * PORTS_EACH;
let next = Math.floor(Math.random() * PORTS_EACH);

/** Free loopback ports, all different; the caller takes them at once. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries += 1) {
    if (tries > PORTS_EACH) throw new Error(`No free port from ${first} on`);
    const port = first + (next % PORTS_EACH);
    next += 1;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  await new Promise((done) => server.close(done));
  return true;
}
