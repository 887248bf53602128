/** Typical values of users. Each is rendered, and checked against the promises, the schemas of Kubernetes, and an API server. */
import type { HelmOptions } from "./render.ts";

const REDIS = { redis: { url: "rediss://parley:p%40ss@redis.example.com:6380" } };

export const MATRIX: Readonly<Record<string, HelmOptions>> = {
  defaults: {},
  small: { examples: ["small"] },
  production: { examples: ["production"] },
  sentinel: { examples: ["sentinel"] },
  cluster: { examples: ["cluster"] },
  identity: { examples: ["identity"] },
  gateway: { examples: ["gateway"] },
  "everything in production": { examples: ["production", "identity", "gateway"] },
  "another release, in another namespace": { release: "asks", namespace: "tools" },
  "a long name": { release: "a-release-whose-name-is-as-long-as-helm-lets-it-be-53" },
  "names of our own": { values: { fullnameOverride: "questions", nameOverride: "q" } },
  "an address of Redis": { values: REDIS },
  "one front end, many workers": { values: { server: { replicas: 1, autoscaling: { enabled: false } }, worker: { replicas: 12 } } },
  "an autoscaler that may go down to one": {
    values: { server: { autoscaling: { min: 1 } }, worker: { autoscaling: { type: "keda", min: 1 } } },
  },
  "KEDA through Prometheus": {
    values: { worker: { autoscaling: { type: "keda", keda: { prometheusAddress: "http://prometheus.monitoring.svc:9090" } } } },
  },
  "a gateway and an Ingress at once": {
    values: {
      httpRoute: { enabled: true, hostnames: ["a.example.com", "*.b.example.com"], parentRefs: [{ name: "public" }] },
      ingress: { enabled: true, className: "haproxy", hosts: ["c.example.com"], tls: [{ hosts: ["c.example.com"], secretName: "tls" }] },
    },
  },
  "long drains": {
    values: {
      config: { PARLEY_SHUTDOWN_DELAY: "1m", PARLEY_SHUTDOWN_TIMEOUT: "2 minutes", PARLEY_DRAIN_TIMEOUT: "1.5h" },
      server: { preStopSeconds: 30 },
    },
  },
  "long waits": { values: { config: { PARLEY_BLOCKED_KILL: "3m", PARLEY_REDIS_START_TIMEOUT: "2m" } } },
  "no drains": {
    values: {
      config: { PARLEY_SHUTDOWN_DELAY: "0s", PARLEY_SHUTDOWN_TIMEOUT: "250ms", PARLEY_DRAIN_TIMEOUT: "0ms" },
      server: { preStopSeconds: 0 },
    },
  },
  "everything that can be added": {
    values: {
      imagePullSecrets: [{ name: "registry" }],
      image: { repository: "registry.example.com:5000/parley", tag: "v1", digest: `sha256:${"a".repeat(64)}` },
      extraEnv: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=384" }],
      extraEnvFrom: [{ secretRef: { name: "tools" } }],
      serviceAccount: { annotations: { "iam.example.com/role": "parley" } },
      service: { type: "LoadBalancer", port: 8080, annotations: { "lb.example.com/internal": "true" } },
      ports: { http: 8000, operator: 8001 },
      server: {
        priorityClassName: "high",
        podAnnotations: { "a.example.com/b": "c" },
        podLabels: { team: "asks" },
        nodeSelector: { "kubernetes.io/arch": "arm64" },
        tolerations: [{ key: "spot", operator: "Exists" }],
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { team: "asks" } } },
            ],
          },
        },
        extraEnv: [{ name: "OTEL_SERVICE_NAME", value: "asks" }],
        disruptionBudget: { maxUnavailable: null, minAvailable: 1 },
        terminationGracePeriodSeconds: 120,
        networkPolicy: { extraEgress: [{ ports: [{ port: 443 }] }] },
        topologySpreadConstraints: [
          {
            topologyKey: "kubernetes.io/hostname",
            maxSkew: 1,
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: { matchLabels: { "app.kubernetes.io/component": "server" } },
          },
        ],
      },
      worker: {
        extraVolumes: [{ name: "data", persistentVolumeClaim: { claimName: "tools" } }],
        extraVolumeMounts: [{ name: "data", mountPath: "/srv", readOnly: true }],
        extraEnv: [{ name: "API_KEY", valueFrom: { secretKeyRef: { name: "tools", key: "api-key" } } }],
        networkPolicy: { egress: [{ ports: [{ port: 443 }, { port: 6379 }] }] },
      },
      extraObjects: [
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "{{ .Release.Name }}-more", labels: { "app.kubernetes.io/name": "more" } },
          data: { a: "b" },
        },
      ],
    },
  },
  "nothing that can be left out": {
    values: {
      networkPolicy: { enabled: false },
      doctor: { enabled: false },
      replay: { enabled: false },
      serviceAccount: { create: false, name: "parley" },
      server: { disruptionBudget: { enabled: false } },
      worker: { disruptionBudget: { enabled: false } },
    },
  },
};

/** What the operator brings, in all of them. */
export const BROUGHT = {
  secrets: [
    "parley-redis",
    "parley-seal",
    "parley-login",
    "crm",
    "asks-parley-redis",
    "questions-redis",
    "a-release-whose-name-is-as-long-as-helm-lets-it-be-redis",
    "tools",
  ],
  configMaps: ["parley-redis-ca", "parley-upstreams"],
} as const;
