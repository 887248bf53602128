/** How a session ends at the upstream. */
import { type Client, SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Closing } from "./session.ts";

/** How long ending a session at the upstream may take. Without it, the upstream keeps the session. Thousands may end at once. */
const END_SESSION_MS = 10_000;

/** Ends the session at the upstream. Ending it twice has no further effect. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  try {
    await transport.terminateSession();
  } catch (error) {
    if (error instanceof SdkHttpError) throw error;
    // The connection was closed at that moment, for example as an idle one by its server.
    await transport.terminateSession();
  }
}

/** Resolves when none of its processes and connections is left. Never throws. */
export async function closeSession(client: Client, { keeps = false }: Closing = {}): Promise<void> {
  const { transport } = client;
  let timer: NodeJS.Timeout | undefined;
  try {
    if (transport instanceof StreamableHTTPClientTransport && !keeps) {
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, END_SESSION_MS)));
      await Promise.race([endSession(transport), late]);
    }
  } catch {
    // An upstream that is gone has no session to end.
  } finally {
    clearTimeout(timer);
    await client.close().catch(() => undefined);
  }
}
