/**
 * The check of `parley doctor` of upstreams. It connects to none of them: that may start their processes. But it asks the authorization servers of
 * those with `clientCredentials` for a token, which is never printed.
 */
import { readUpstreams, type Upstream, UpstreamsError } from "@parley/gateway/every-process";
import type { Finding } from "./run.ts";

/** The file is valid, as far as it can be read without the variables of a worker. */
export async function upstreamFindings(file: string | undefined, environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  if (!file) return [];
  const about = "upstreams";
  const upstreams = readUpstreams(file);
  const fine: Finding = { level: "fine", about, says: `${upstreams.length} in ${file}; \`parley upstreams test\` connects to them` };
  if (!upstreams.some(({ reached }) => reached.by === "url" && reached.credentials)) return [fine];
  try {
    return [fine, ...(await accessFindings(readUpstreams(file, { environment })))];
  } catch (error) {
    if (!(error instanceof UpstreamsError)) throw error;
    const cure = "Run the doctor with the environment and the files of a worker.";
    return [
      fine,
      ...error.problems.map((problem): Finding => ({ level: "advice", about, says: `no token was requested: ${problem}`, cure })),
    ];
  }
}

async function accessFindings(upstreams: readonly Upstream[]): Promise<Finding[]> {
  const { createClientTokens, createUpstreamFetch, describeFailure, hasCredentials } = await import("@parley/gateway");
  const { fetch, close } = createUpstreamFetch();
  const tokens = createClientTokens({ fetch });
  try {
    const findings = upstreams.map(async (upstream): Promise<Finding[]> => {
      const { name, reached } = upstream;
      if (!hasCredentials(reached)) return [];
      const about = `upstream ${name}`;
      try {
        await tokens.token(upstream, reached);
        return [{ level: "fine", about, says: `${new URL(reached.credentials.issuer).host} issues tokens for it` }];
      } catch (error) {
        const cure = "docs/gateway.md#access-of-its-own describes `clientCredentials`.";
        return [{ level: "problem", about, says: describeFailure(error), cure }];
      }
    });
    return (await Promise.all(findings)).flat();
  } finally {
    await close();
  }
}
