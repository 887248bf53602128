/** A client that listens: `subscriptions/listen` to one task, at any front end. */
import { Agent } from "node:http";
import { message } from "./client.ts";
import { exchange } from "./exchange.ts";

export interface Listener {
  /** Resolves when the stream has told that status. */
  told(status: string): Promise<void>;
  close(): void;
}

/** `token`: of clients that need one. */
export function listen(url: string, taskId: string, token?: string): Listener {
  const agent = new Agent({ keepAlive: false, maxSockets: 1 });
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  let failed: (reason: unknown) => void = () => undefined;
  const failure = new Promise<never>((_resolve, reject) => (failed = reject));
  failure.catch(() => undefined);

  const { headers, body } = message("subscriptions/listen", { notifications: { taskIds: [taskId] } }, taskId);
  const authorized = { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  const stream = exchange({ url, agent, headers: authorized, body }, ({ method, params, error }) => {
    if (error) failed(new Error(error.message));
    if (method !== "notifications/tasks" || params?.status === undefined) return;
    seen.add(params.status);
    waiting.get(params.status)?.();
  });
  stream.ended.catch(failed);
  return {
    told(status) {
      if (seen.has(status)) return Promise.resolve();
      return Promise.race([new Promise<void>((resolve) => void waiting.set(status, resolve)), failure]);
    },
    close() {
      stream.close();
      agent.destroy();
    },
  };
}
