/**
 * The profile `login` with real parts: front ends and workers that require a login, a provider, and three people with the official client.
 *
 *   alice, carol (finance) and bob (support) log in ─▶ bob calls release_payment ─▶ bob is refused, alice and carol accept ─▶ paid
 *
 * During this, everything is rolled, the provider restarts with another key, parts are killed, and the whole deployment is stopped and
 * started.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Client, createClient, type TaskState } from "../../bench/client.ts";
import { freePorts } from "../support/free-ports.ts";
import { connectLoggedIn, Keeper } from "../support/keeper.ts";
import { logIn } from "../support/person.ts";
import { until } from "../support/until.ts";
import { check } from "./checks.ts";
import { BUILD, COMPOSE, deployment, ROOT } from "./deployment.ts";

const PAYMENT = { payment: "P-2041-1", payee: "Acme", amount: 9_000 };
const ACCEPT = { release: { action: "accept", content: {} } };

export async function login(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "parley-compose-"));
  const file = join(directory, "login.env");
  const [port = 0] = await freePorts(1);
  const site = `http://localhost:${port}`;
  const settings = readFileSync(join(ROOT, "deploy/provider/try.env"), "utf8");
  // As try.env advises where port 3000 is taken.
  writeFileSync(file, `${settings.replace(/^PARLEY_PUBLIC_URL=.*$/m, `PARLEY_PUBLIC_URL=${site}`)}\nPARLEY_PUBLISH=127.0.0.1:${port}\n`);
  const parley = deployment({
    project: "parley-test-login",
    files: ["docker-compose.yml", "test/compose/login.yml"],
    env: { COMPOSE_PROFILES: "login", COMPOSE_ENV_FILES: file, LOGIN_ENV: file },
  });
  try {
    await play(parley, site);
  } catch (error) {
    check(`login: ${error instanceof Error ? error.message : String(error)}`, false);
    console.log(parley.tryRun([...COMPOSE, "logs", "--tail", "20"]).out);
  } finally {
    if (process.env["COMPOSE_KEEP"] === undefined) parley.tryRun([...COMPOSE, "down", "--volumes", "--timeout", "5"]);
    rmSync(directory, { recursive: true });
  }
}

async function play(parley: ReturnType<typeof deployment>, site: string): Promise<void> {
  const url = new URL(`${site}/mcp`);
  const opened: { close(): unknown }[] = [];
  const { compose, container, containers, inspect } = parley;

  /** Through the browser, with nothing kept from before. */
  async function person(name: string): Promise<Client> {
    const keeper = new Keeper(name);
    const client = await connectLoggedIn(() => connect(url, keeper), { url, keeper });
    await client.close();
    const tasks = createClient(url.href, 2, keeper.kept?.access_token);
    opened.push(tasks);
    return tasks;
  }
  const reaches = (client: Client, taskId: string, status: string) =>
    until(async () => (await client.get(taskId)).status === status, { timeoutMs: 30_000, everyMs: 200 });
  /** For others: to the client of its owner it is working, with this message. */
  const waits = (client: Client, taskId: string) =>
    until(async () => (await client.get(taskId)).statusMessage?.startsWith("Waiting for an answer"), { timeoutMs: 30_000, everyMs: 200 });

  const startedAtMs = Date.now();
  compose("up", "-d", BUILD, "--wait");
  check("login: all containers are healthy, the provider too", inspect(container("provider"), "{{.State.Health.Status}}") === "healthy", {
    seconds: (Date.now() - startedAtMs) / 1_000,
  });

  const confined = inspect(container("provider"), "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}}");
  check("login: the provider is not root, has a read-only root and no capabilities", confined === "node true [ALL]", confined);

  const nobody = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  const challenge = nobody.headers.get("www-authenticate") ?? "";
  check("login: without a token nothing is served, and the refusal says where one is issued", nobody.status === 401, challenge);
  const metadata = (await (await fetch(/resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "")).json()) as Record<string, unknown>;
  check(
    "login: … which is the provider, for this address alone",
    JSON.stringify([metadata["authorization_servers"], metadata["resource"]]) === JSON.stringify([["http://localhost:3002"], url.href]),
    metadata,
  );

  // The official client: it is refused, finds the provider, registers, has its person log in, calls, is asked, and answers.
  const keeper = new Keeper("alice");
  const official = await connectLoggedIn(() => connect(url, keeper), { url, keeper });
  const dinner = await official.callTool({ name: "book_dinner", arguments: { date: "2041-05-05", time: "19:00" } });
  await official.close();
  check(
    "login: the official client logs in, calls, is asked, answers, and has its result",
    textOf(dinner).includes("for 4 on"),
    textOf(dinner),
  );

  try {
    const [alice, bob, carol] = [await person("alice"), await person("bob"), await person("carol")];
    const release = await bob.call("release_payment", PAYMENT);
    await waits(bob, release.taskId);
    const own = await bob.call("book_dinner", { date: "2041-06-06", time: "19:00" });
    await reaches(bob, own.taskId, "input_required");

    const ofBob = await bob.get(release.taskId);
    check(
      "login: bob, who called, sees who is asked and no form",
      ofBob.statusMessage?.includes("group finance") === true && ofBob.inputRequests === undefined,
      ofBob.statusMessage,
    );
    const byBob = await refusal(bob.answer(release.taskId, ACCEPT));
    check("login: bob's answer is refused", byBob?.includes("for other people") === true, byBob);
    const nothing = `0-${"A".repeat(22)}`;
    const [foreign, unknown] = [await refusal(alice.get(own.taskId)), await refusal(alice.get(nothing))];
    check(
      "login: what bob alone is asked does not exist for alice",
      foreign !== undefined && foreign === unknown?.replace(nothing, own.taskId),
      foreign,
    );
    check("login: alice is shown the question, and accepts", (await receipt(alice, release.taskId)) === "accepted");

    await page({ site, alice, bob, reaches });

    // One of two has accepted. From here on everything dies in turn.
    await parley.mustBeside("deploy/roll.sh", "server");
    await parley.mustBeside("deploy/roll.sh", "worker");
    check(
      "login: front ends and workers were rolled, and alice, whose token is as before, has accepted",
      (await receipt(alice, release.taskId)) === "duplicate",
    );

    await parley.mustBeside("docker", "restart", container("provider"));
    await until(() => inspect(container("provider"), "{{.State.Health.Status}}") === "healthy", { timeoutMs: 60_000, everyMs: 500 });
    const again = await person("bob").catch((error: unknown) => String(error));
    check("login: the provider started again with another key, and people log in at once", typeof again !== "string", again);

    for (const service of ["server", "worker", "redis"]) {
      const [id = ""] = containers(service);
      await parley.mustBeside("docker", "kill", id);
      await parley.mustBeside("docker", "start", id);
    }
    compose("up", "-d", "--no-build", "--no-recreate", "--wait");
    const bobLater = await person("bob");
    const survived = await waits(bobLater, release.taskId).catch(() => false);
    check("login: a front end, a worker and Redis were killed, and the question waits", survived);

    compose("down", "--timeout", "20");
    compose("up", "-d", "--no-build", "--wait");
    const carolAgain = await person("carol");
    const bobAgain = await person("bob");
    const message = await refusal(carol.get(release.taskId));
    check("login: down and up, and the token from before is refused: its key went with the provider", message !== undefined, message);
    check("login: carol, who logs in again, accepts as the second", (await receipt(carolAgain, release.taskId)) === "accepted");
    const ended = await reaches(bobAgain, release.taskId, "completed").catch(() => false);
    const result = resultOf(await bobAgain.get(release.taskId));
    check("login: … and bob's payment is released", ended && result.includes("is released; 2 people"), result);

    await bobAgain.answer(own.taskId, { "party-size": { action: "accept", content: { partySize: 2 } } });
    check("login: bob's own question was there too", await reaches(bobAgain, own.taskId, "completed").catch(() => false));
    const logs = compose("logs", "--no-color", "server", "worker");
    check("login: no log holds a token, a code or an answer", !/eyJ[\w-]{20}|[?&]code=|hunter2/.test(logs));
  } finally {
    for (const each of opened) each.close();
  }
}

interface Playing {
  readonly site: string;
  readonly alice: Client;
  readonly bob: Client;
  reaches(client: Client, taskId: string, status: string): Promise<unknown>;
}

/** A secret is entered on a page, for which its person logs in at the provider by a browser. */
async function page({ site, bob, reaches }: Playing): Promise<void> {
  const { taskId } = await bob.call("connect", {});
  await reaches(bob, taskId, "input_required");
  const { key } = (await bob.get(taskId)).inputRequests as { key: { params: { url: string } } };
  const address = key.params.url;
  const sessions = { alice: await browserOf(address, "alice"), bob: await browserOf(address, "bob") };
  const foreign = await fetch(address, { headers: { cookie: sessions.alice }, redirect: "manual" });
  check("login: alice logs in to the page that bob is asked on, and finds nothing", foreign.status === 404);
  const shown = await fetch(address, { headers: { cookie: sessions.bob }, redirect: "manual" });
  const form = await shown.text();
  check("login: bob logs in to it, and is shown his question", shown.status === 200 && form.includes("You are logged in as "));
  const sent = await fetch(address, {
    method: "POST",
    redirect: "manual",
    headers: { cookie: sessions.bob, origin: site },
    body: new URLSearchParams({ ...hiddenIn(form), action: "accept", secret: "hunter2" }),
  });
  const asked = await until(async () => "sure" in ((await bob.get(taskId)).inputRequests ?? {})).catch(() => false);
  check("login: bob enters the secret, and the tool asks on", asked, sent.status);
}

/** What says which question was shown, and to whom. */
function hiddenIn(form: string): Record<string, string> {
  return Object.fromEntries(
    [...form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

/** The cookie of a browser whose person has logged in. */
async function browserOf(address: string, name: string): Promise<string> {
  const away = await fetch(address, { redirect: "manual" });
  const [begun = ""] = away.headers.getSetCookie();
  const callback = await logIn(new URL(away.headers.get("location") ?? ""), name);
  const back = await fetch(callback, { redirect: "manual", headers: { cookie: begun.split(";")[0] ?? "" } });
  const session = back.headers.getSetCookie().find((each) => each.startsWith("parley-session="));
  return session?.split(";")[0] ?? "";
}

async function connect(url: URL, keeper: Keeper): Promise<McpClient> {
  const client = new McpClient({ name: "parley-test", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { partySize: 4 } }));
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: keeper as never }) as never);
  return client;
}

/** What became of an acceptance. */
async function receipt(client: Client, taskId: string): Promise<string | undefined> {
  return (await client.answer(taskId, ACCEPT))._meta["parley/receipts"]["release"];
}

async function refusal(request: Promise<unknown>): Promise<string | undefined> {
  return await request.then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

const resultOf = ({ result }: TaskState) => result?.content?.[0]?.text ?? "";
const textOf = (result: unknown) => JSON.stringify((result as { content?: unknown }).content ?? "");
