/**
 * npm run test:kubernetes -- [--quick] [--report FILE]
 *
 *   chart        deploy/helm/parley/tests
 *   schemas      schemas.json matches the pinned sources of Kubernetes and others
 *   kubeconform  every overlay and every row of the matrix of values, strict
 *   server       a real kube-apiserver accepts them from the deployer without a warning, keeps every field, and finds a second apply unchanged
 *   rights       the deployer's role has no unnecessary right
 *   restricted   pods of both roles are admitted to a restricted namespace
 *   helm         installs, upgrades, rolls back; names a missing Secret
 *   docs         every command of docs/kubernetes.md
 *
 * `--quick` leaves the server out. Missing programs are built if Go is installed (tools.ts). What is not available is skipped with a line,
 * and is not reported as passed.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEmbeddedRedis } from "@parley/redis/embedded";
import { type ApiServer, type Ran, startApiServer } from "./api-server.ts";
import { type RunningJobs, runJobs } from "./jobs.ts";
import { MATRIX } from "./matrix.ts";
import type { Deployment } from "./promises.ts";
import { CHART, helmText, KUSTOMIZE, kustomizeText, type KubernetesObject, OVERLAYS, parseObjects, ROOT } from "./render.ts";
import { customDefinitions, derived } from "./schemas/derive.ts";
import { startParley } from "../support/parley.ts";
import { until } from "../support/until.ts";
import { findTool, obtainTool } from "./tools.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false }, report: { type: "string" } } });
const folders = ["base", ...OVERLAYS.map((name) => `overlays/${name}`)];
/** In place of one that an operator reads, whose kind is not known here. */
const EXTERNAL_SECRET = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "external-secret" }, data: { target: "parley-redis" } };
let passed = 0;
let failed = 0;
let skipped = 0;

function check(what: string, problem: string): void {
  console.log(`${problem === "" ? "✓" : "✗"} ${what}${problem === "" ? "" : `\n    ${problem.trim().replaceAll("\n", "\n    ")}`}`);
  if (problem === "") passed += 1;
  else failed += 1;
}

/** Undefined, with a line, where it cannot be had. */
async function had<Thing>(what: string, get: () => Thing | Promise<Thing>): Promise<Thing | undefined> {
  try {
    return await get();
  } catch (error) {
    console.log(`- ${what} skipped: ${error instanceof Error ? error.message : String(error)}`);
    skipped += 1;
    return undefined;
  }
}

const helm = await had("what Helm renders", () => obtainTool("helm"));
const unittest = await had("the chart's own tests", () => obtainTool("helm-unittest"));
// To build kubectl takes long, and most machines have one.
const kustomize = values.quick ? findTool("kubectl") : await had("what kustomize builds", () => obtainTool("kubectl"));
const sets = [
  ...(kustomize === undefined ? [] : folders.map((folder) => [folder, kustomizeText(folder)] as const)),
  ...(helm === undefined
    ? []
    : Object.entries(MATRIX).map(([name, options]) => [`values: ${name}`, helmText({ ...options, hooks: true })] as const)),
];

if (unittest !== undefined) {
  const { status, stdout } = spawnSync(unittest, [CHART], { encoding: "utf8" });
  check("the chart's own tests", status === 0 && /^Tests: +\d+ passed, \d+ total$/m.test(stdout) ? "" : stdout);
}
const schemas = await had("schemas", derived);
if (schemas !== undefined) {
  const committed = readFileSync(join(import.meta.dirname, "schemas/schemas.json"), "utf8");
  check("schemas.json is what its sources say", committed === schemas ? "" : "node test/kubernetes/schemas/derive.ts writes it anew");
}
await kubeconform();
if (!values.quick) {
  const server = await had("a real kube-apiserver", startApiServer);
  if (server) {
    try {
      await onServer(server);
    } finally {
      await server.close();
    }
  }
}

console.log(`${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`);
if (values.report !== undefined) writeFileSync(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
process.exit(failed === 0 ? 0 : 1);

async function kubeconform(): Promise<void> {
  const tool = await had("kubeconform", () => obtainTool("kubeconform"));
  if (tool === undefined) return;
  const directory = mkdtempSync(join(tmpdir(), "parley-schemas-"));
  try {
    const all = JSON.parse(readFileSync(join(import.meta.dirname, "schemas/schemas.json"), "utf8")) as Record<string, object>;
    for (const [name, schema] of Object.entries(all)) {
      // As kubeconform names them: deployment-apps-v1, httproute-gateway-v1, service-v1.
      const [kind = "", version = "", group] = name.toLowerCase().split("/").toReversed();
      const file = [kind, ...(group === undefined ? [] : [group.split(".")[0]]), version].join("-");
      writeFileSync(join(directory, `${file}.json`), JSON.stringify(schema));
    }
    const where = `${directory}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
    const conforms = (yaml: string) => {
      const { status, stdout, stderr } = spawnSync(tool, ["-strict", "-summary", "-schema-location", where], {
        input: yaml,
        encoding: "utf8",
      });
      return status === 0 && / 0, Skipped: 0$/m.test(stdout) && !/Summary: 0 /.test(stdout) ? "" : `${stdout}${stderr}`;
    };
    for (const [name, yaml] of sets) check(`kubeconform: ${name}`, conforms(yaml));
    const misspelt = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {selektor: {a: b}}\n";
    check("kubeconform: finds a misspelt field", conforms(misspelt).includes("selektor") ? "" : "it did not");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function onServer(server: ApiServer): Promise<void> {
  const { kubectl } = server;
  /** What went wrong, or was warned of. */
  const problems = ({ status, problems: said }: Ran) => (status === 0 ? said : said || `exit code ${status}`);

  for (const file of customDefinitions()) check(`server: takes ${file.split("/").at(-1)}`, problems(kubectl(["create", "-f", file])));
  kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  check("server: takes the namespace and the deployer's role", problems(kubectl(["apply", "-k", join(KUSTOMIZE, "namespace")])));
  const token = kubectl(["create", "token", "deployer", "-n", "parley"]).out.trim();
  // Namespaces get this by a controller, which is not run here; the chart looks for it.
  for (const namespace of ["parley", "tools"]) {
    if (namespace !== "parley") kubectl(["create", "namespace", namespace]);
    kubectl(["create", "configmap", "kube-root-ca.crt", "-n", namespace, "--from-literal=ca.crt=none"]);
  }

  if (kustomize !== undefined) {
    for (const folder of folders) {
      const from = ["-k", join(KUSTOMIZE, folder)];
      check(`server: would take ${folder}`, problems(kubectl(["apply", ...from, "--dry-run=server", "--validate=strict"], { token })));
      check(`server: takes ${folder}`, problems(kubectl(["apply", ...from, "--validate=strict"], { token })));
      check(`server: keeps all of ${folder}`, lost(kustomizeText(folder)));
      check(`server: finds nothing to change in ${folder}`, difference(kubectl(["diff", ...from])));
      kubectl(["delete", ...from, "--wait=false"]);
    }
    await rights();
    restricted();
  }
  if (helm !== undefined) {
    for (const [name, options] of Object.entries(MATRIX)) {
      const input = helmText({ ...options, hooks: true });
      check(
        `server: would take values: ${name}`,
        problems(kubectl(["apply", "-f", "-", "--dry-run=server", "--validate=strict"], { input })),
      );
    }
    releases(helm);
  }
  if (helm !== undefined && kustomize !== undefined) await documented(helm);

  /** Fields of these objects that the server does not have, or has otherwise. */
  function lost(yaml: string): string {
    const kept = JSON.parse(kubectl(["get", "-f", "-", "-o", "json"], { input: yaml }).out) as { items: KubernetesObject[] };
    return parseObjects(yaml)
      .flatMap((object) => {
        const found = kept.items.find(({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name);
        return missingParts(object, found, `${object.kind} ${object.metadata.name}`);
      })
      .join("\n");
  }

  /** Each right of the role is needed by something that is deployed, and Secrets are none of its business. */
  async function rights(): Promise<void> {
    const { metadata, rules, ...role } = JSON.parse(
      kubectl(["get", "role", "deployer", "-n", "parley", "-o", "json"]).out,
    ) as KubernetesObject & {
      rules: { resources: string[] }[];
    };
    const { name, namespace } = metadata;
    const replace = (left: object[]) =>
      kubectl(["replace", "-f", "-"], { input: JSON.stringify({ ...role, metadata: { name, namespace }, rules: left }) });
    const all = folders.map((folder) => kustomizeText(folder)).join("\n---\n");
    for (const rule of rules) {
      replace(rules.filter((other) => other !== rule));
      // What a role allows is known a moment after it was changed.
      const refused = await until(() => {
        const { problems: said } = kubectl(["apply", "-f", "-", "--dry-run=server"], { input: all, token });
        const resources = [...new Set([...said.matchAll(/cannot \w+ resource "(\w+)"/g)].map(([, resource = ""]) => resource))];
        return resources.toSorted().join() === rule.resources.toSorted().join();
      }).catch(String);
      check(`rights: ${rule.resources.join(", ")} are needed`, refused === true ? "" : String(refused));
    }
    replace(rules);
    await until(() => kubectl(["auth", "can-i", "create", "deployments", "-n", "parley"], { token }).out.trim() === "yes");
    const can = (...what: string[]) => kubectl(["auth", "can-i", ...what, "-n", "parley"], { token }).out.trim();
    check(
      "rights: the deployer reads no Secret, runs nothing in a pod, and gives no rights",
      [can("get", "secrets"), can("list", "secrets"), can("create", "pods/exec"), can("create", "rolebindings")].every(
        (answer) => answer === "no",
      )
        ? ""
        : "it may",
    );
  }

  function restricted(): void {
    const deployments = (parseObjects(kustomizeText("base")) as Deployment[]).filter(({ kind }) => kind === "Deployment");
    kubectl(["create", "serviceaccount", "parley", "-n", "parley"]);
    const pod = (spec: object) => {
      const input = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "x", namespace: "parley" }, spec });
      return problems(kubectl(["create", "-f", "-", "--dry-run=server"], { input }));
    };
    for (const { metadata, spec } of deployments) {
      check(`restricted: a pod of ${metadata.name} is let in`, pod(spec.template.spec));
      const asRoot = { ...spec.template.spec, securityContext: { runAsUser: 0 } };
      check(`restricted: one as root is not`, /violates PodSecurity "restricted/.test(pod(asRoot)) ? "" : "it was let in");
    }
    kubectl(["delete", "serviceaccount", "parley", "-n", "parley"]);
  }

  /** Without hooks: no pod runs here, so none would end. */
  function releases(program: string): void {
    const run = (...args: string[]) => {
      kubectl(["create", "secret", "generic", "parley-login", "-n", "parley", "--from-literal=secret=s"]);
      const more = ["--namespace", "parley", "--kubeconfig", server.kubeconfig];
      const { status, stdout, stderr } = spawnSync(program, [...args, ...more], { encoding: "utf8" });
      return { status, out: stdout, problems: stderr };
    };
    const install = ["install", "parley", CHART, "--no-hooks"];
    const noSecret =
      "there is no Secret parley-redis in namespace parley, which should hold the REDIS_URL: kubectl -n parley create secret generic parley-redis --from-literal=url=…";
    check("helm: says which Secret is missing", containing(run(...install).problems, noSecret));
    kubectl(["create", "secret", "generic", "parley-redis", "-n", "parley", "--from-literal=address=redis://redis"]);
    const noKey = 'the Secret parley-redis in namespace parley has no key "url", which should hold the REDIS_URL.';
    check("helm: says which key a Secret lacks", containing(run(...install).problems, noKey));
    kubectl(["delete", "secret", "parley-redis", "-n", "parley"]);
    kubectl(["create", "secret", "generic", "parley-redis", "-n", "parley", "--from-literal=url=redis://redis"]);
    kubectl(["create", "secret", "generic", "parley-seal", "-n", "parley", `--from-literal=secret=${"s".repeat(32)}`]);
    kubectl(["create", "secret", "generic", "parley-login", "-n", "parley", "--from-literal=secret=s"]);
    const more = ["--set", "worker.extraEnv[0].name=CRM_TOKEN", "--set", "worker.extraEnv[0].valueFrom.secretKeyRef.name=crm"];
    const token = "there is no Secret crm in namespace parley, which worker.extraEnv names for CRM_TOKEN.";
    check("helm: says which Secret of a tool is missing", containing(run(...install, ...more).problems, token));
    const authority = "there is no ConfigMap parley-redis-ca in namespace parley, which should hold the certificate authority of Redis";
    const production = ["--values", join(CHART, "examples/production.yaml")];
    check("helm: says which ConfigMap is missing", containing(run(...install, ...production).problems, authority));
    kubectl(["create", "configmap", "parley-redis-ca", "-n", "parley", "--from-literal=ca.crt=none"]);
    kubectl(["create", "secret", "generic", "crm", "-n", "parley", "--from-literal=token=t"]);
    kubectl(["create", "configmap", "parley-upstreams", "-n", "parley", '--from-literal=upstreams.json={"upstreams":[]}']);
    check("helm: installs", problems(run(...install)));
    for (const name of OVERLAYS) {
      check(
        `helm: upgrades to ${name}`,
        problems(run("upgrade", "parley", CHART, "--no-hooks", "-f", join(CHART, "examples", `${name}.yaml`))),
      );
    }
    check("helm: rolls back", problems(run("rollback", "parley", "1", "--no-hooks")));
    check("helm: and has then what it had", lost(helmText({})));
    check("helm: uninstalls", problems(run("uninstall", "parley", "--no-hooks")));
    kubectl(["delete", "secret", "parley-redis", "parley-seal", "parley-login", "crm", "-n", "parley"]);
    const later = ["--set", "doctor.enabled=false", "--set-json", `extraObjects=[${JSON.stringify(EXTERNAL_SECRET)}]`];
    check("helm: installs without its Secret if the release brings it", problems(run(...install, ...later)));
    check("helm: uninstalls", problems(run("uninstall", "parley", "--no-hooks")));
    kubectl(["delete", "configmap", "parley-redis-ca", "parley-upstreams", "-n", "parley"]);
  }

  /** In the order of the page. Jobs of hooks are run as processes, since no kubelet does it. */
  async function documented(program: string): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), "parley-docs-"));
    const redis = await had("the commands of docs/kubernetes.md", () => startEmbeddedRedis({ dataDir: join(directory, "redis") }));
    if (!redis) return;
    symlinkSync(program, join(directory, "helm"));
    writeFileSync(join(directory, "ca.crt"), "none");
    writeFileSync(join(directory, "upstreams.json"), JSON.stringify({ upstreams: [{ name: "crm", url: "https://crm.example.com/mcp" }] }));
    const env = {
      ...process.env,
      PATH: `${directory}:${process.env["PATH"]}`,
      KUBECONFIG: server.kubeconfig,
      REDIS_URL: redis.url,
      CA_FILE: join(directory, "ca.crt"),
      UPSTREAMS_FILE: join(directory, "upstreams.json"),
      CRM_TOKEN: "token",
    };
    const jobs = runJobs(server, ROOT);
    try {
      const page = readFileSync(join(ROOT, "docs/kubernetes.md"), "utf8");
      for (const [, block = ""] of page.matchAll(/^ *```sh\n(.*?)^ *```$/gms)) {
        for (const command of block
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean))
          check(`docs: ${command}`, await shell(command, env));
      }
      check("docs: the doctor ran before each install and upgrade", jobs.ran() >= 7 ? "" : `it ran ${jobs.ran()} times`);

      check(
        "docs: and the tasks that wait were replayed before each upgrade",
        containing(jobs.log("parley-replay"), "0 tasks: 0 continue"),
      );
      await toolThatIsGone(redis.url, env, jobs);

      // Once more, with a Redis that is away, in the namespace that the page has left.
      kubectl(["create", "secret", "generic", "away", "-n", "tools", "--from-literal=url=redis://127.0.0.1:1"]);
      const install = "helm install away deploy/helm/parley --namespace tools --set redis.existingSecret.name=away";
      check("helm: nothing is installed while the doctor finds a problem", containing(await shell(install, env), "failed pre-install"));
      check("helm: and its log says which", containing(jobs.log("away-parley-doctor"), "✗ Redis: redis://127.0.0.1:1 cannot be used"));
      check("helm: and no Deployment is there", kubectl(["get", "deployments", "-n", "tools", "-o", "name"]).out);
    } finally {
      await jobs.stop();
      await redis.close();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

/** A task waits, and an upgrade brings other tools. */
async function toolThatIsGone(url: string, env: NodeJS.ProcessEnv, jobs: RunningJobs): Promise<void> {
  const tools = (name: string) => join(ROOT, "test/e2e/tools", name);
  const before = await startParley(["--tools", tools("greet.ts")], { env: { REDIS_URL: url } });
  const call = `node apps/cli/main.ts call greet --greeting MARKER --no-input --url ${before.url} --no-wait`;
  check("helm: a task waits", await shell(call, env));
  await before.kill();
  await shell(`kubectl -n tools create secret generic parley-redis --from-literal=url=${url}`, env);
  const release = (verb: string, name: string) =>
    shell(`helm ${verb} parley deploy/helm/parley --namespace tools --set config.PARLEY_TOOLS=${tools(name)}`, env);
  check("helm: installs the tool of a task that waits", await release("install", "greet.ts"));
  check("helm: upgrades to no tools under which it would fail", containing(await release("upgrade", "steps.ts"), "pre-upgrade"));
  check("helm: and the replay's log says why", containing(jobs.log("parley-replay"), "diverges: the modules have no tool greet"));
  check("helm: but not what was said", jobs.log("parley-replay").includes("MARKER") ? jobs.log("parley-replay") : "");
  check("helm: upgrades with tools that continue it", await release("upgrade", "greet.ts"));
  check("helm: and this is what the replay found", containing(jobs.log("parley-replay"), "1 task: 1 continues"));
  await shell("helm uninstall parley --namespace tools && kubectl -n tools delete secret parley-redis", env);
}

/** What a command said on standard error if it failed, else nothing. */
async function shell(command: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn("bash", ["-eo", "pipefail", "-c", command], { cwd: ROOT, env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const status = await new Promise<number | null>((ended) => child.once("close", ended));
  return status === 0 ? "" : said || `exit code ${status}`;
}

function containing(text: string, part: string): string {
  return text.includes(part) ? "" : text || "it said nothing";
}

/** What another apply would change. */
function difference({ status, out, problems }: Ran): string {
  return status === 0 ? "" : `${out}${problems}` || `exit code ${status}`;
}

function missingParts(wanted: unknown, found: unknown, path: string): string[] {
  if (typeof wanted !== "object" || wanted === null)
    return sameValue(wanted, found) ? [] : [`${path}: ${String(wanted)} became ${String(found)}`];
  if (typeof found !== "object" || found === null) return [`${path} is gone`];
  return Object.entries(wanted).flatMap(([key, value]) => missingParts(value, (found as Record<string, unknown>)[key], `${path}.${key}`));
}

/** Amounts have several spellings: 1 and "1" of a CPU. */
function sameValue(a: unknown, b: unknown): boolean {
  return a === b || String(a) === String(b);
}
