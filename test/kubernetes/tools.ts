/**
 * The programs that read manifests as a cluster would. None is in npm, so each is looked for in this order:
 *
 *   on the PATH         kubectl only: any version will do
 *   in the cache        ~/.cache/parley/tools/<name>-<version>
 *   built               from the Go module proxy at the pinned version, if Go is installed; helm and kube-apiserver take minutes
 *   not there           with the reason, so that a test that needs it can say what was skipped and why
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** The Kubernetes whose API server, schemas and client are used. */
export const KUBERNETES = "v1.36.3";

interface Source {
  readonly module: string;
  readonly version: string;
  /** Of the command, within the module. */
  readonly folder: string;
  /** What its own build tells it, as the linker's variables. */
  readonly told?: Readonly<Record<string, string>>;
}

const [, MAJOR = "", MINOR = ""] = /^v(\d+)\.(\d+)/.exec(KUBERNETES) ?? [];
const kubernetes = {
  module: "k8s.io/kubernetes",
  version: KUBERNETES,
  told: {
    "k8s.io/component-base/version.gitVersion": KUBERNETES,
    "k8s.io/component-base/version.gitMajor": MAJOR,
    "k8s.io/component-base/version.gitMinor": MINOR,
  },
};

const TOOLS = {
  helm: {
    module: "helm.sh/helm/v3",
    version: "v3.22.0",
    folder: "/cmd/helm",
    told: { "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": MAJOR, "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": MINOR },
  },
  "helm-unittest": { module: "github.com/helm-unittest/helm-unittest", version: "v1.1.2", folder: "/cmd/helm-unittest" },
  kubeconform: { module: "github.com/yannh/kubeconform", version: "v0.8.0", folder: "/cmd/kubeconform" },
  kubectl: { ...kubernetes, folder: "/cmd/kubectl" },
  "kube-apiserver": { ...kubernetes, folder: "/cmd/kube-apiserver" },
  etcd: { module: "go.etcd.io/etcd/server/v3", version: "v3.7.3", folder: "" },
} as const satisfies Record<string, Source>;

export type Tool = keyof typeof TOOLS;

const BUILD_TIMEOUT_MS = 60 * 60_000;
const CACHE = join(homedir(), ".cache", "parley", "tools");

/** Where the tool is, if it is there already. */
export function findTool(tool: Tool): string | undefined {
  const cached = cachedAt(tool);
  if (existsSync(cached)) return cached;
  if (tool === "kubectl" && spawnSync(tool, ["version", "--client"]).status === 0) return tool;
  return undefined;
}

/** Where the tool is, built first if need be. Throws an Error that says in a line why it cannot be had here. */
export function obtainTool(tool: Tool): string {
  const found = findTool(tool);
  if (found !== undefined) return found;
  if (spawnSync("go", ["version"]).status !== 0) throw new Error(`${tool} is not there, and no Go that could build it`);
  const { module, version, folder, told = {} }: Source = TOOLS[tool];
  console.log(`building ${tool} ${version} …`);
  const directory = mkdtempSync(join(tmpdir(), "parley-tool-"));
  try {
    // `go install module@version` refuses modules that replace others. A module around it may do as that one does.
    writeFileSync(join(directory, "go.mod"), `module tool\n\ngo 1.26.0\n\nrequire ${module} ${version}\n${replacements(module, version)}`);
    const built = join(directory, tool);
    const variables = Object.entries(told).map(([name, value]) => `-X ${name}=${value}`);
    go(directory, "build", "-mod=mod", "-trimpath", `-ldflags=${["-s", ...variables].join(" ")}`, "-o", built, `${module}${folder}`);
    mkdirSync(CACHE, { recursive: true });
    // Renamed into place whole: another process may be building it, too.
    const whole = `${cachedAt(tool)}.${process.pid}`;
    spawnSync("cp", [built, whole]);
    renameSync(whole, cachedAt(tool));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return cachedAt(tool);
}

/** The sources of a module, from the Go module proxy. Throws as obtainTool does. */
export function moduleDirectory(module: string, version: string): string {
  const { status, stdout } = spawnSync("go", ["mod", "download", "-json", `${module}@${version}`], { encoding: "utf8" });
  const { Dir, Error: problem } = JSON.parse(stdout || "{}") as { Dir?: string; Error?: string };
  if (status !== 0 || Dir === undefined) throw new Error(`${module} ${version} cannot be had: ${problem ?? "there is no Go here"}`);
  return Dir;
}

function cachedAt(tool: Tool): string {
  return join(CACHE, `${tool}-${TOOLS[tool].version}`);
}

/** What the module replaces, except by its own folders, which are modules of their own: those of Kubernetes have versions from 0. */
function replacements(module: string, version: string): string {
  const text = readFileSync(join(moduleDirectory(module, version), "go.mod"), "utf8");
  return [...text.matchAll(/^(?:replace )?\s*(\S+(?: v\S+)?) => (\S+(?: v\S+)?)$/gm)]
    .map(([, old = "", by = ""]) => {
      if (!by.startsWith(".")) return `replace ${old} => ${by}\n`;
      return module === "k8s.io/kubernetes" ? `replace ${old} => ${old} ${version.replace("v1.", "v0.")}\n` : "";
    })
    .join("");
}

function go(directory: string, ...args: string[]): void {
  const { status, stderr } = spawnSync("go", args, { cwd: directory, encoding: "utf8", maxBuffer: 1 << 26, timeout: BUILD_TIMEOUT_MS });
  if (status === 0) return;
  const lines = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("go: downloading"));
  throw new Error(`go ${args[0]} failed: ${lines.slice(-3).join(" ")}`);
}
