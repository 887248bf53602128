/** Mistakes on the command line: one clear sentence, exit code 1, and nothing is called. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../support/balancer.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { startIssuer } from "../support/issuer.ts";
import { parley } from "../support/parley.ts";
import { startFrontEnd } from "../support/processes.ts";

const TOOLS = join(import.meta.dirname, "../dialects/tools.ts");
const NO_TASK = "0-AAAAAAAAAAAAAAAAAAAAAA";

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ frontEnds: 1, workers: 1, tools: [TOOLS] });
});
afterAll(() => deployment?.close());

test.each([
  ["call greet --colour red --marker m", /colour/],
  ["call greet --marker m --args {", /--args/],
  ["call no_such_tool", /no_such_tool/],
  [`task ${NO_TASK}`, /no task|unknown|not found/i],
  [`answer ${NO_TASK} who --accept`, /no task|unknown|not found/i],
  [`cancel ${NO_TASK}`, /no task|unknown|not found/i],
  ["tasks --status asleep", /--status asleep is not a status: use working, input_required/],
  ["tasks --limit none", /--limit/],
  ["tools --url ftp://example.com/", /must begin with http:\/\/ or https:\/\//],
])("`parley %s` says what is wrong", async (command, says) => {
  const { code, stdout, stderr } = await parley(command.split(" "), { env: { PARLEY_URL: `${deployment.frontEnds[0]?.url}/mcp` } });
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(says) as unknown });
  // A sentence, no stack.
  expect(stderr).not.toMatch(/\n\s+at /);
});

test("arguments that a tool refuses are its result, and exit code 1", async () => {
  const { code, stdout } = await parley(["call", "greet"], { env: { PARLEY_URL: `${deployment.frontEnds[0]?.url}/mcp` } });
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^invalid arguments for tool greet: \/marker /) as unknown });
});

test("an unreachable server, and one that requires a login, are reported with what to do", async () => {
  const [port = 0] = await freePorts(1);
  const away = `http://127.0.0.1:${port}/mcp`;
  expect(await parley(["tools", "--url", away])).toEqual({
    code: 1,
    stdout: "",
    stderr: `parley: no Parley server responds: ${away} does not respond (ECONNREFUSED). Start one with \`npm start\`, or name another with --url.\n`,
  });

  const issuer = await startIssuer();
  const front = await startFrontEnd({
    REDIS_URL: deployment.redis.url,
    PARLEY_PREFIX: deployment.redis.prefix,
    PARLEY_TOOLS: TOOLS,
    PARLEY_AUTH: "required",
    PARLEY_AUTH_ISSUERS: issuer.url,
    PARLEY_PUBLIC_URL: "http://localhost:3000",
  });
  try {
    const expired = await issuer.token({ sub: "ann", scope: "tasks:read", exp: Math.floor(Date.now() / 1000) - 3_600 });
    for (const token of ["", expired]) {
      const { code, stderr } = await parley(["tools", "--url", `${front.url}/mcp`], { env: { PARLEY_TOKEN: token } });
      expect([code, stderr]).toEqual([
        1,
        `parley: ${front.url}/mcp requires a login: run \`parley login --url ${front.url}/mcp\`, or set PARLEY_TOKEN\n`,
      ]);
    }
  } finally {
    await front.kill();
    await issuer.close();
  }
});
