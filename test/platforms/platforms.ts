/** Reads the examples of deploy/platforms as their platforms do: which processes there are, and what each receives. */
import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";

export interface PlatformProcess {
  readonly name: string;
  /** After `node apps/cli/main.ts`. */
  readonly args: readonly string[];
  /** By the example, the image and the platform; but for the address of Redis, which is a secret of the platform's. */
  readonly env: Readonly<Record<string, string>>;
  /** From SIGTERM to SIGKILL. */
  readonly killedAfterMs: number;
}

export interface Platform {
  readonly name: string;
  /** After this much silence a stream is ended. */
  readonly silenceMs: number;
  readonly processes: readonly PlatformProcess[];
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** What the image sets, where the platform runs the image. */
function imageEnvironment(): Record<string, string> {
  const [, block = ""] = /^ENV ((?:.*\\\n)*.*)$/m.exec(read("Dockerfile")) ?? [];
  return Object.fromEntries([...block.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]));
}

/** What follows the image's entry point, or a command that replaces it. */
function argsOf(command: string): string[] {
  return command
    .replace(/^node apps\/cli\/main\.ts /, "")
    .split(" ")
    .filter(Boolean);
}

interface Variable {
  readonly name: string;
  readonly value?: string;
}
const valuesOf = (variables: readonly Variable[]) =>
  Object.fromEntries(variables.flatMap(({ name, value }) => (value === undefined ? [] : ([[name, value]] as const))));

function cloudRun(): Platform {
  interface Manifest {
    readonly spec: {
      readonly template: {
        readonly spec: {
          readonly timeoutSeconds?: number;
          readonly containers: readonly [{ args: string[]; env: Variable[]; ports?: [{ containerPort: number }] }];
        };
      };
    };
  }
  const [service, pool] = (["service", "worker-pool"] as const).map(
    (file) => (parseYaml(read(`deploy/platforms/cloud-run/${file}.yaml`)) as Manifest).spec.template.spec,
  ) as [Manifest["spec"]["template"]["spec"], Manifest["spec"]["template"]["spec"]];
  const processes = [service, pool].map(({ containers: [{ args, env, ports }] }) => ({
    name: args.join(" "),
    args,
    env: { ...imageEnvironment(), ...valuesOf(env), ...(ports && { PORT: String(ports[0].containerPort) }) },
    killedAfterMs: 10_000,
  }));
  return { name: "Cloud Run", silenceMs: (service.timeoutSeconds ?? 300) * 1_000, processes };
}

function render(): Platform {
  const { services } = parseYaml(read("deploy/platforms/render/render.yaml")) as {
    services: {
      type: string;
      name: string;
      dockerCommand: string;
      maxShutdownDelaySeconds: number;
      envVars: { key: string; value?: string }[];
    }[];
  };
  const processes = services
    .filter(({ type }) => type !== "keyvalue")
    .map(({ type, name, dockerCommand, maxShutdownDelaySeconds, envVars }) => ({
      name,
      args: argsOf(dockerCommand),
      env: {
        ...imageEnvironment(),
        ...valuesOf(envVars.map(({ key, value }) => ({ name: key, ...(value !== undefined && { value }) }))),
        ...(type === "web" && { PORT: "10000" }),
      },
      killedAfterMs: maxShutdownDelaySeconds * 1_000,
    }));
  return { name: "Render", silenceMs: 100 * 60_000, processes };
}

function fly(): Platform {
  const { processes, env, kill_timeout } = parseToml(read("deploy/platforms/fly/fly.toml")) as unknown as {
    processes: Record<string, string>;
    env: Record<string, string>;
    kill_timeout: number;
  };
  return {
    name: "Fly",
    silenceMs: 60_000,
    processes: Object.entries(processes).map(([name, command]) => ({
      name,
      args: argsOf(command),
      env: { ...imageEnvironment(), ...env },
      killedAfterMs: kill_timeout * 1_000,
    })),
  };
}

function heroku(): Platform {
  const { env } = JSON.parse(read("deploy/platforms/heroku/app.json")) as { env: Record<string, { value?: string }> };
  const given = valuesOf(Object.entries(env).map(([name, { value }]) => ({ name, ...(value !== undefined && { value }) })));
  return {
    name: "Heroku",
    silenceMs: 55_000,
    processes: [...read("deploy/platforms/heroku/Procfile").matchAll(/^(\w+): (.+)$/gm)].map(([, name = "", command = ""]) => ({
      name,
      args: argsOf(command),
      // From its sources: without what the image sets.
      env: { ...given, ...(name === "web" && { PORT: "20000" }) },
      killedAfterMs: 30_000,
    })),
  };
}

export const PLATFORMS: readonly Platform[] = [cloudRun(), render(), fly(), heroku()];
