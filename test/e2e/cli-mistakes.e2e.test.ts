/** Mistakes on the command line: one clear sentence, exit code 1, and nothing is called. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { freePorts } from "../support/free-ports.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { parley } from "../support/parley.ts";
import { type FrontEnd, startFrontEnd } from "../support/processes.ts";

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
  ["keys list", /^parley: invalid settings:\n {2}REDIS_URL is not set\n$/],
])("`parley %s` says what is wrong", async (command, says) => {
  const { code, stdout, stderr } = await parley(command.split(" "), { env: { PARLEY_URL: `${deployment.frontEnds[0]?.url}/mcp` } });
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(says) as unknown });
  // A sentence, no stack.
  expect(stderr).not.toMatch(/\n\s+at /);
});

/** A front end whose callers need a token of that issuer. */
function guardedFrontEnd(issuer: Issuer, settings: Readonly<Record<string, string>> = {}): Promise<FrontEnd> {
  return startFrontEnd({
    REDIS_URL: deployment.redis.url,
    PARLEY_PREFIX: deployment.redis.prefix,
    PARLEY_TOOLS: TOOLS,
    PARLEY_AUTH: "required",
    PARLEY_AUTH_ISSUERS: issuer.url,
    PARLEY_PUBLIC_URL: "http://localhost:3000",
    ...settings,
  });
}

test("login says where there is no MCP endpoint", async () => {
  const url = `${deployment.frontEnds[0]?.url}/nope`;
  expect(await parley(["login", "--url", url])).toEqual({
    code: 1,
    stdout: "",
    stderr: `parley: there is no MCP endpoint at ${url}: it usually ends in /mcp\n`,
  });
});

test("the version is printed before a command, and is an argument after it", async () => {
  expect(await parley(["--version"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  const env = { PARLEY_URL: `${deployment.frontEnds[0]?.url}/mcp` };
  expect(await parley(["call", "greet", "--marker", "m", "--version", "2"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("version"),
  });
});

test("arguments that a tool refuses are its result, and exit code 1", async () => {
  const { code, stdout } = await parley(["call", "greet"], { env: { PARLEY_URL: `${deployment.frontEnds[0]?.url}/mcp` } });
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^invalid arguments for tool greet: \/marker /) as unknown });
});

test("an inbox that reads more than its caller's rate allows waits, and leaves no question out", async () => {
  const issuer = await startIssuer();
  const front = await guardedFrontEnd(issuer, { PARLEY_QUOTA_READS: "2" });
  try {
    const url = `${front.url}/mcp`;
    const token = await issuer.token({ sub: "ann", scope: "tools:call tasks:read" });
    const client = createClient(url, 1, token);
    const tasks: string[] = [];
    for (let each = 0; each < 14; each += 1) tasks.push((await client.call("greet", { marker: "m" })).taskId);
    client.close();
    const { stdout } = await parley(["inbox", "--json", "--url", url], { env: { PARLEY_TOKEN: token } });
    const { questions } = JSON.parse(stdout) as { questions: { taskId: string }[] };
    expect(questions.map(({ taskId }) => taskId).toSorted()).toEqual(tasks.toSorted());
  } finally {
    await front.kill();
    await issuer.close();
  }
});

test("an unreachable server, and one that requires a login, are reported with what to do", async () => {
  const [port = 0] = await freePorts(1);
  const away = `http://127.0.0.1:${port}/mcp`;
  expect(await parley(["tools", "--url", away])).toEqual({
    code: 1,
    stdout: "",
    stderr: `parley: no Parley server responds: ${away} does not respond (ECONNREFUSED). Start one with \`parley start\`, or name another with --url.\n`,
  });

  const issuer = await startIssuer();
  const front = await guardedFrontEnd(issuer);
  try {
    const expired = await issuer.token({ sub: "ann", scope: "tasks:read", exp: Math.floor(Date.now() / 1000) - 3_600 });
    const url = `${front.url}/mcp`;
    const refused = async (variables: Record<string, string>) => {
      const { code, stderr } = await parley(["tools", "--url", url], { env: variables });
      expect(code).toBe(1);
      return stderr;
    };
    expect(await refused({})).toBe(`parley: ${url} requires a login: run \`parley login --url ${url}\`, or set PARLEY_TOKEN\n`);
    expect(await refused({ PARLEY_TOKEN: expired })).toMatch(
      /refuses the token in PARLEY_TOKEN or PARLEY_TOKEN_FILE: the token expired \d+ min ago\. Replace it, or remove it and run `parley login/,
    );
    expect(await refused({ PARLEY_TOKEN_FILE: "/no/such/token" })).toContain("PARLEY_TOKEN_FILE: /no/such/token cannot be read (ENOENT)");
    const unsendable = await refused({ PARLEY_TOKEN: "first-secret\nsecond-secret" });
    expect(unsendable).toContain("PARLEY_TOKEN is no access token: it contains");
    expect(unsendable).not.toContain("secret");
  } finally {
    await front.kill();
    await issuer.close();
  }
});
