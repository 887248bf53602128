/** The worker's part of the gateway: makes the calls of upstreams, and follows changes of their file. */
import { type Catalogue, describeError, type Prompt, type Services, type Tool } from "@parley/core";
import type { Gateway } from "@parley/gateway";
import type { UpstreamsFile } from "@parley/gateway/every-process";
import { deploymentId, type RedisBackend } from "@parley/redis";
import type { Telemetry } from "@parley/telemetry";
import type { WorkerConfig } from "./config.ts";
import { watchGateway } from "./watch-gateway.ts";

export interface OpenGateway {
  readonly file: UpstreamsFile;
  readonly settings: WorkerConfig["gateway"];
  /** The deployment's own tools, prompts and resources. */
  readonly own: Catalogue;
  readonly services: Services;
  readonly redis: Pick<RedisBackend, "gateway" | "secret">;
  readonly telemetry: Telemetry;
  readonly version: string;
  /** Whether a rule could stop some call of it, so that every call is a task. */
  readonly mustBeTask?: (called: Tool | Prompt) => boolean;
}

export interface OpenedGateway {
  readonly gateway: Gateway;
  stopWatchingFile(): void;
}

export async function openGateway(opened: OpenGateway): Promise<OpenedGateway> {
  const { file, settings, own, services, redis, telemetry, version, mustBeTask } = opened;
  const { log } = services;
  const deployment = await deploymentId(redis.secret);
  let counts: Gateway["counts"] = () => ({ waiting: 0, all: 0 });
  const observer = watchGateway(telemetry, () => counts());
  // Loaded only if there are upstreams, since it includes an MCP client.
  const { createGateway } = await import("@parley/gateway");
  const gateway = await createGateway({
    upstreams: file.upstreams,
    own,
    services,
    share: redis.gateway,
    settings,
    version,
    deployment,
    ...(mustBeTask && { mustBeTask }),
    ...(observer && { observer }),
  });
  ({ counts } = gateway);
  const stopWatchingFile = file.watch({
    log,
    onChange: (upstreams) =>
      void gateway
        .replace(upstreams)
        .catch((error: unknown) => log.warn(describeError(error), "change of upstreams could not be announced")),
  });
  return { gateway, stopWatchingFile };
}
