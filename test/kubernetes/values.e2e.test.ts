import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { describe, expect, test } from "vitest";
import { generatedFiles } from "../../deploy/generate/generated.ts";
import { NOT_IN_CONFIG } from "../../deploy/generate/setting-schemas.ts";
import { type Deployment, settingsOf } from "./promises.ts";
import { helm, type HelmOptions, ROOT, tryHelm } from "./render.ts";
import { findTool } from "./tools.ts";

// Helm runs for each case; on a machine with other work to do that takes a while.
const noHelm = findTool("helm") === undefined;

test.each(generatedFiles())("$path is what `npm run generate` writes", ({ path, text }) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
});

const HOSTS = "localhost,127.0.0.1,[::1],parley,parley.parley,parley.parley.svc,parley.parley.svc.cluster.local,parley-operator.parley.svc";
/** Other values than the defaults, by what a setting takes. */
const SAMPLES: readonly (string | number | boolean)[] = [
  "42s",
  "http",
  true,
  false,
  0.5,
  7,
  "default",
  "text",
  "fail",
  "always_off",
  "debug",
  "http://collector:4318",
  "http://login/authorize http://login/token",
  1_000,
  "acme=4",
  "required",
  "user+client",
  "on",
  "RS256",
  "dir:/srv/files",
  "off",
  "email",
  "unique",
  "end",
  "https://id.acme.example acme",
];
/** A volume that front ends and workers have at the same path. */
const SHARED = {
  extraVolumes: [{ name: "shared", persistentVolumeClaim: { claimName: "shared" } }],
  extraVolumeMounts: [{ name: "shared", mountPath: "/srv" }],
};
const schemas = { ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape };
const inConfig = (Object.keys(schemas) as (keyof typeof schemas)[]).filter((name) => !(NOT_IN_CONFIG as readonly string[]).includes(name));

describe.skipIf(noHelm)("every setting of .env.example reaches its processes from the values (needs helm)", () => {
  const pods = (options: HelmOptions) => {
    const objects = helm(options);
    const configMaps = objects.filter(({ kind }) => kind === "ConfigMap") as never;
    return (objects as Deployment[])
      .filter(({ kind }) => kind === "Deployment")
      .map(({ spec }) => ({
        role: spec.template.spec.containers[0]!.name,
        settings: settingsOf(spec.template.spec.containers[0]!, configMaps),
        env: spec.template.spec.containers[0]!.env,
      }));
  };
  const config = Object.fromEntries(
    inConfig.map((name) => {
      const unset = schemas[name].parse(undefined);
      const sample = SAMPLES.find((each) => {
        const parsed = schemas[name].safeParse(String(each));
        return parsed.success && !isDeepStrictEqual(parsed.data, unset);
      });
      if (sample === undefined) throw new Error(`SAMPLES have nothing for ${name}`);
      return [name, sample];
    }),
  );

  test("by its name in `config`, and as the process reads it", () => {
    const rendered = pods({ values: { config, server: SHARED, worker: SHARED } });
    expect(rendered.map(({ role }) => role)).toEqual(["server", "worker"]);
    for (const { settings } of rendered) {
      for (const name of inConfig) {
        if (name === "PARLEY_ALLOWED_HOSTS") expect(settings[name]).toBe(`${HOSTS},${String(config[name])}`);
        else expect(schemas[name].parse(settings[name]), name).toEqual(schemas[name].parse(String(config[name])));
      }
    }
  });

  test("large numbers are not written as powers of ten", () => {
    const [server] = pods({ values: { config: { PARLEY_JOURNAL_SIZE_MAX: 123_456_789_012 } } });
    expect(server?.settings["PARLEY_JOURNAL_SIZE_MAX"]).toBe("123456789012");
  });

  test("and rolls the pods that read it, which an address of Redis does too", () => {
    const annotations = (values: object) =>
      (helm({ values }) as Deployment[]).find(({ kind }) => kind === "Deployment")?.spec.template.metadata;
    expect(annotations({ config: { PARLEY_LEASE: "8s" } })).not.toEqual(annotations({}));
    expect(annotations({ redis: { url: "redis://a" } })).not.toEqual(annotations({ redis: { url: "redis://b" } }));
    expect(annotations({ worker: { replicas: 3 } })).toEqual(annotations({}));
  });

  test("the eight that are not in `config` from where they belong", () => {
    expect(NOT_IN_CONFIG).toHaveLength(8);
    const secret = (name: string, key: string) => ({ valueFrom: { secretKeyRef: { name, key } } });
    const contentKeys = { name: "PARLEY_CONTENT_KEYS", ...secret("keys", "ring") };
    const introspection = { name: "PARLEY_AUTH_INTROSPECTION_SECRET", ...secret("provider", "secret") };
    const login = { name: "PARLEY_LOGIN_SECRET", ...secret("login", "secret") };
    const values = {
      server: { extraEnv: [contentKeys, introspection, login] },
      worker: { extraEnv: [contentKeys] },
      redis: { existingSecret: { name: "mine", key: "address" } },
      seal: { existingSecret: { name: "sealed", key: "key" } },
      // PORT is the same as PARLEY_PORT, which is always set.
      ports: { http: 8080, operator: 8081 },
    };
    const [server, worker] = pods({ values });
    expect(server?.env).toEqual([
      { name: "REDIS_URL", ...secret("mine", "address") },
      { name: "PARLEY_PORT", value: "8080" },
      { name: "PARLEY_SECRET", ...secret("sealed", "key") },
      { name: "PARLEY_METRICS_PORT", value: "8081" },
      contentKeys,
      introspection,
      login,
    ]);
    expect(worker?.env).toEqual([
      { name: "REDIS_URL", ...secret("mine", "address") },
      { name: "PARLEY_SECRET", ...secret("sealed", "key") },
      { name: "PARLEY_METRICS_PORT", value: "8081" },
      contentKeys,
    ]);
  });
});

describe.skipIf(noHelm)("values that cannot be meant are refused with a sentence (needs helm)", () => {
  const CASES: readonly [values: object, says: string | RegExp][] = [
    // Wrong types.
    [{ server: { replicas: "three", autoscaling: { enabled: false } } }, "at '/server/replicas': got string, want null or integer"],
    [{ server: { autoscaling: { enabled: "yes" } } }, "at '/server/autoscaling/enabled': got string, want boolean"],
    [{ httpRoute: { hostnames: "a.example" } }, "at '/httpRoute/hostnames': got string, want array"],
    [{ image: { digest: "sha256:abc" } }, /at '\/image\/digest': 'sha256:abc' does not match pattern/],
    [{ config: { PARLEY_CONCURRENCY: "many" } }, "at '/config/PARLEY_CONCURRENCY': got string, want integer"],
    [{ config: { PARLEY_CONCURRENCY: 0 } }, "at '/config/PARLEY_CONCURRENCY': minimum: got 0, want 1"],
    [{ config: { PARLEY_LEASE: "soon" } }, /at '\/config\/PARLEY_LEASE': .*'soon' does not match pattern/s],
    [{ config: { PARLEY_LOG_LEVEL: "loud" } }, /at '\/config\/PARLEY_LOG_LEVEL': value must be one of 'trace', 'debug'/],
    [{ redis: { url: "http://redis" } }, /at '\/redis\/url': 'http:\/\/redis' does not match pattern/],
    // Pods are no root, and have no capabilities.
    [{ ports: { http: 80 } }, "at '/ports/http': minimum: got 80, want 1,024"],
    // A key with nothing below it, which is null.
    [{ config: null }, "missing property 'config'"],
    [{ server: { extraEnv: null } }, "at '/server': missing property 'extraEnv'"],
    [{ redis: { existingSecret: null } }, "at '/redis': missing property 'existingSecret'"],
    // Unknown keys.
    [{ servers: {} }, "additional properties 'servers' not allowed"],
    [{ worker: { replicaCount: 2 } }, "at '/worker': additional properties 'replicaCount' not allowed"],
    [{ config: { PARLEY_CONCURENCY: 80 } }, "at '/config': additional properties 'PARLEY_CONCURENCY' not allowed"],
    [{ config: { REDIS_URL: "redis://x" } }, "at '/config': additional properties 'REDIS_URL' not allowed"],
    // Zero workers.
    [{ worker: { replicas: 0 } }, "at '/worker/replicas': minimum: got 0, want 1"],
    [{ worker: { autoscaling: { type: "keda", min: 0 } } }, "at '/worker/autoscaling/min': minimum: got 0, want 1"],
    // Contradictions.
    [
      { redis: { url: "redis://x", existingSecret: { name: "y" } } },
      "redis.url and redis.existingSecret.name are both set: use only one of them.",
    ],
    [
      { redis: { url: "redis-cluster://a:1,b:2" }, config: { PARLEY_REDIS_REPLICAS: 1 } },
      "config.PARLEY_REDIS_REPLICAS does not work with a Redis Cluster: remove it, or use Sentinel (docs/redis.md).",
    ],
    [
      { fullnameOverride: "1.parley" },
      "the objects would be called 1.parley, which is no name of a Service: choose a fullnameOverride of lower-case letters, digits and -, with a letter first.",
    ],
    [
      { ports: { http: 9464 } },
      "ports.http and ports.operator are both 9464: the operator's port must not be reachable by clients, so choose another one.",
    ],
    [
      { server: { replicas: 3 } },
      "server.replicas is 3 and server.autoscaling.enabled is true: a fixed number and an autoscaler contradict each other. Remove one.",
    ],
    [
      { worker: { replicas: 3, autoscaling: { type: "keda" } } },
      "worker.replicas is 3 and worker.autoscaling.type is keda: a fixed number and an autoscaler contradict each other. Remove one.",
    ],
    [{ server: { autoscaling: { min: 11 } } }, "server.autoscaling.min (11) is greater than server.autoscaling.max (10)."],
    [{ worker: { autoscaling: { type: "keda", min: 30 } } }, "worker.autoscaling.min (30) is greater than worker.autoscaling.max (20)."],
    [
      { server: { disruptionBudget: { minAvailable: 1 } } },
      "server.disruptionBudget has both minAvailable and maxUnavailable: set one of them to null.",
    ],
    [
      { worker: { disruptionBudget: { maxUnavailable: null } } },
      "worker.disruptionBudget has neither minAvailable nor maxUnavailable: set one of them, or enabled to false.",
    ],
    [
      { worker: { disruptionBudget: { maxUnavailable: null, minAvailable: 2 } } },
      "worker.disruptionBudget.minAvailable is 2, and there may be only 2 pods: their nodes could never be drained. Set at most 1, or maxUnavailable.",
    ],
    [
      { server: { autoscaling: { min: 3 }, disruptionBudget: { maxUnavailable: null, minAvailable: "67%" } } },
      "server.disruptionBudget.minAvailable is 67%, and there may be only 3 pods",
    ],
    [
      { worker: { extraEnv: [{ name: "PARLEY_DRAIN_TIMEOUT", value: "5m" }] } },
      "extraEnv or worker.extraEnv sets PARLEY_DRAIN_TIMEOUT, on which other parts of the chart depend: set config.PARLEY_DRAIN_TIMEOUT.",
    ],
    [
      { server: { terminationGracePeriodSeconds: 27 } },
      "server.terminationGracePeriodSeconds is 27, but draining takes up to 18 s: Kubernetes would kill the pod before it finishes. Set at least 28, or null.",
    ],
    [
      { worker: { terminationGracePeriodSeconds: 60 }, config: { PARLEY_DRAIN_TIMEOUT: "1m" } },
      "worker.terminationGracePeriodSeconds is 60, but draining takes up to 60 s: Kubernetes would kill the pod before it finishes. Set at least 70, or null.",
    ],
    [
      { server: { resources: { requests: { cpu: null } } } },
      "server.autoscaling needs server.resources.requests.cpu, since it scales by a percentage of it.",
    ],
    [
      { server: { podLabels: { "app.kubernetes.io/component": "mine" } } },
      "server.podLabels sets app.kubernetes.io/component, by which the chart selects its pods: use another label.",
    ],
    [
      { extraEnv: [{ name: "REDIS_URL", value: "redis://x" }] },
      "extraEnv or server.extraEnv sets REDIS_URL, which is already set (use redis for REDIS_URL, seal for PARLEY_SECRET, ports for ports).",
    ],
    [
      { extraEnv: [{ name: "A", value: "1" }], worker: { extraEnv: [{ name: "A", value: "2" }] } },
      "extraEnv or worker.extraEnv sets A, which is already set",
    ],
    [
      { worker: { autoscaling: { type: "keda", runsPerWorker: 51 } } },
      "worker.autoscaling.runsPerWorker is 51, but a worker takes only 50 runs at once (PARLEY_CONCURRENCY): workers would be full before another one starts.",
    ],
    [
      { server: { autoscaling: { heldCalls: 5_001 } } },
      "server.autoscaling.heldCalls is 5001, but a front end holds only 5000 (PARLEY_WAITS_MAX): front ends would be full before another one starts.",
    ],
    [
      { server: { autoscaling: { openStreams: 300 } }, config: { PARLEY_LISTENS_MAX: 200 } },
      "server.autoscaling.openStreams is 300, but a front end holds only 200 (PARLEY_LISTENS_MAX)",
    ],
    [
      { redis: { url: "redis://parley:p@ss@localhost:6379/1" } },
      "redis.url has the host localhost, where a pod reaches only itself: use a name that everyone who needs it can reach.",
    ],
    [{ redis: { url: "rediss-sentinel://a:26379,127.0.0.1:26380/master" } }, "redis.url has the host 127.0.0.1, "],
    [
      { config: { PARLEY_AUTH_ISSUERS: "https://id.example.com, http://[::1]:8080/realms/a" } },
      "config.PARLEY_AUTH_ISSUERS has the host [::1], ",
    ],
    [{ config: { PARLEY_PUBLIC_URL: "http://localhost" } }, "config.PARLEY_PUBLIC_URL has the host localhost, "],
    [
      {
        config: { PARLEY_FILES: "dir:/files" },
        server: { extraVolumeMounts: [{ name: "files", mountPath: "/files" }] },
        worker: { extraVolumeMounts: [{ name: "files", mountPath: "/file" }] },
      },
      "config.PARLEY_FILES is dir:/files, but no volume that front ends and workers share is mounted there: add it to worker.extraVolumes and worker.extraVolumeMounts, or use s3://.",
    ],
    [
      { httpRoute: { enabled: true, hostnames: ["a.example"] } },
      "httpRoute.parentRefs is empty: name the Gateway that the route attaches to.",
    ],
    [
      { httpRoute: { enabled: true, parentRefs: [{ name: "public" }] } },
      "httpRoute.hostnames is empty: name the hosts that clients call. Parley serves only these.",
    ],
    [{ ingress: { enabled: true } }, "ingress.hosts is empty: name the hosts that clients call. Parley serves only these."],
  ];

  test.each(CASES)("%j", (values, says) => {
    const rendered = tryHelm({ values });
    expect("problem" in rendered && rendered.problem).toEqual(
      typeof says === "string" ? expect.stringContaining(says) : expect.stringMatching(says),
    );
  });

  test.each([
    [{ server: { terminationGracePeriodSeconds: 28 } }],
    [{ worker: { autoscaling: { type: "keda", runsPerWorker: 50 } } }],
    [{ server: { autoscaling: { min: 10 } } }],
    [{ server: { podLabels: null, affinity: null }, worker: { disruptionBudget: { maxUnavailable: null, minAvailable: "50%" } } }],
    [{ server: { autoscaling: { enabled: false }, resources: { requests: { cpu: null } } } }],
    [{ config: { PARLEY_CONCURRENCY: 10_000 } }],
    [{ server: { autoscaling: { heldCalls: 5_000, openStreams: 10_001 } }, config: { PARLEY_LISTENS_MAX: 10_001 } }],
    [{ redis: { url: "redis://localhost.example.com" }, config: { PARLEY_PUBLIC_URL: "https://a.example/localhost" } }],
    [{ config: { PARLEY_FILES: "dir:/srv/files/" }, server: SHARED, worker: SHARED }],
  ])("and what is just still meant is not: %j", (values) => {
    expect(tryHelm({ values })).toHaveProperty("text");
  });

  test("a Kubernetes that is too old is named", () => {
    expect(tryHelm({ kubeVersion: "1.29.9" })).toEqual({ problem: expect.stringContaining("requires kubeVersion: >=1.30.0-0") });
  });
});
