/** `tasks/get` by a caller with an access token, compared with a front end that requires none. */
import { startIssuer } from "../../test/support/issuer.ts";
import type { Benchmark } from "../benchmark.ts";
import { createClient, message } from "../client.ts";
import { flood } from "../flood.ts";
import { parked } from "../lifecycle.ts";
import { atLeastOfFloor } from "../target.ts";

const SECONDS = 4;
const PUBLIC_URL = "http://parley.example";

export const tasksGetToken: Benchmark = {
  name: "token",
  group: "Reading a task with an access token, a JWT (`tasks/get`, 10 connections; floor: without identity)",
  rounds: 5,
  async open({ quick, redis, startFrontEnd }) {
    const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
    const token = await issuer.token({ exp: Math.floor(Date.now() / 1_000) + 3_600 });
    const [guarded, open] = await Promise.all([
      startFrontEnd({
        PARLEY_AUTH: "required",
        PARLEY_AUTH_ISSUERS: issuer.url,
        PARLEY_PUBLIC_URL: PUBLIC_URL,
        PARLEY_QUOTA_READS: "1000000", // counted all the same, and never full
      }),
      startFrontEnd({}),
    ]);
    async function reader({ url }: { readonly url: string }, given?: string) {
      const client = createClient(`${url}/mcp`, 1, given);
      const { taskId } = await parked(client);
      client.close();
      const { headers, body } = message("tasks/get", { taskId }, taskId);
      return { body, headers: { ...headers, ...(given !== undefined && { authorization: `Bearer ${given}` }) } };
    }
    const [get, openGet] = await Promise.all([reader(guarded, token), reader(open)]);
    const seconds = quick ? 1 : SECONDS;
    return {
      floor: () => flood({ redis, process: open, url: `${open.url}/mcp`, message: openGet, seconds }),
      parley: () => flood({ redis, process: guarded, url: `${guarded.url}/mcp`, message: get, seconds }),
      close: () => issuer.close(),
    };
  },
  metrics: [
    { metric: "per second of CPU, with a token", figure: "perCpuSecond", unit: "/s", target: atLeastOfFloor(0.85) },
    { metric: "per second, with a token", figure: "perSecond", unit: "/s" },
  ],
};
