/** The workflow that builds images does what docs/upgrading.md says, and the version that it checks is that of every package. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions: Readonly<Record<string, string>>;
  readonly needs?: string;
  readonly steps: readonly Step[];
}

const root = new URL("..", import.meta.url);
const text = readFileSync(new URL(".github/workflows/images.yml", root), "utf8");
const workflow = parse(text) as { on: object; permissions: object; jobs: Readonly<Record<"check" | "build", Job>> };
const { check, build } = workflow.jobs;
const step = (job: Job, action: string) => job.steps.find(({ uses }) => uses?.startsWith(`${action}@`))?.with;

describe("images of a release", () => {
  test("are built from tags alone, after the checks; the job that builds may write only packages and attestations", () => {
    expect(workflow.on).toEqual({ push: { tags: ["v*"] } });
    expect(build.needs).toBe("check");
    expect(workflow.permissions).toEqual({});
    expect(check.permissions).toEqual({ contents: "read" });
    expect(build.permissions).toEqual({ contents: "read", packages: "write", "id-token": "write", attestations: "write" });
    expect(text).not.toContain("secrets.");
  });

  test("are built by actions that cannot be changed: each is named by its commit, with the version of that commit", () => {
    const uses = text.split("\n").filter((line) => /^\s*(- )?uses:/.test(line));
    expect(uses.length).toBeGreaterThan(5);
    for (const line of uses) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("are for both platforms, with an SBOM and full provenance, under the version alone", () => {
    const pushed = step(build, "docker/build-push-action");
    expect(pushed).toMatchObject({ platforms: "linux/amd64,linux/arm64", push: true, sbom: true, provenance: "mode=max" });
    expect(pushed?.["tags"]).not.toContain("latest");
    // What is not passed as a build argument cannot be read in the provenance.
    expect(pushed).not.toHaveProperty("build-args");
    expect(step(build, "actions/attest-build-provenance")).toMatchObject({
      "subject-digest": "${{ steps.push.outputs.digest }}",
      "push-to-registry": true,
    });
  });

  test("begin with one Node.js that cannot be changed, of the version that is developed with", () => {
    const { devDependencies } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { devDependencies: { node: string } };
    const bases = ["Dockerfile", "deploy/provider/Dockerfile"].map((file) => {
      const from = [...readFileSync(new URL(file, root), "utf8").matchAll(/^FROM (\S+)(?: AS (\S+))?$/gm)];
      const stages = new Set(from.map(([, , stage]) => stage));
      return from.flatMap(([, image = ""]) => (stages.has(image) ? [] : [image]));
    });
    expect(bases).toEqual([[expect.stringMatching(/^node:[\d.]+-bookworm-slim@sha256:[0-9a-f]{64}$/)], bases[0]]);
    expect(bases[0]?.[0]).toContain(`node:${devDependencies.node}-`);
  });

  test("of the provider for trying have the packages of its lock file, which are those of its package.json", () => {
    const read = (name: string) => readFileSync(new URL(`deploy/provider/${name}`, root), "utf8");
    const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Record<string, string> };
    const { packages } = JSON.parse(read("package-lock.json")) as {
      packages: Record<string, { dependencies?: object; integrity?: string }>;
    };
    const { "": own, ...installed } = packages;
    expect(own?.dependencies).toEqual(dependencies);
    expect(Object.values(installed).filter(({ integrity }) => !integrity)).toEqual([]);
    expect(Object.values(dependencies)).toEqual(Object.values(dependencies).filter((version) => /^\d+\.\d+\.\d+$/.test(version)));
    expect(read("Dockerfile")).toContain("npm ci ");
  });

  test("have the version that every package has and every process tells", () => {
    expect(check.steps.some(({ run }) => run?.includes("apps/server/package.json") && run.includes("GITHUB_REF_NAME"))).toBe(true);
    const versions = ["apps", "packages"].flatMap((folder) =>
      readdirSync(new URL(folder, root)).flatMap((name) => {
        const { version, private: isPrivate } = JSON.parse(readFileSync(new URL(`${folder}/${name}/package.json`, root), "utf8")) as {
          version?: string;
          private?: boolean;
        };
        return version === undefined && isPrivate ? [] : [version];
      }),
    );
    expect(new Set(versions).size).toBe(1);
  });

  test("are described where operators look", () => {
    const page = readFileSync(new URL("docs/upgrading.md", root), "utf8");
    for (const said of ["linux/amd64", "linux/arm64", "SBOM", "mode=max", "gh attestation verify"]) expect(page).toContain(said);
  });
});

describe("a pull request", () => {
  const requested = readFileSync(new URL(".github/workflows/pull-request.yml", root), "utf8");
  const { on, permissions, jobs } = parse(requested) as { on: object; permissions: object; jobs: Readonly<Record<string, Job>> };

  test("is checked and tested by the commands of CONTRIBUTING.md, with no right but to read", () => {
    // pull_request_target would run a stranger's code with this repository's rights.
    expect(Object.keys(on)).toEqual(["pull_request", "push"]);
    expect(permissions).toEqual({});
    for (const job of Object.values(jobs)) expect(job.permissions).toEqual({ contents: "read" });
    const runs = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run));
    for (const command of ["npm run check", "npm run test:all", "promtool test rules alerts.test.yml"]) expect(runs).toContain(command);
    expect(requested).not.toContain("secrets.");
  });

  test("is checked by actions that cannot be changed", () => {
    const uses = requested.split("\n").filter((line) => /^\s*(- )?uses:/.test(line));
    expect(uses).toHaveLength(2);
    for (const line of uses) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });
});
