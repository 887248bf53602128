/** The gateway's settings. The servers behind it are listed in a file of their own (upstreams.ts). */
import { type DurationText, durationSetting } from "@parley/core";
import { z } from "zod";

/** Names the calling deployment, so that a gateway notices when it is behind itself. */
export const GATEWAY_HEADER = "parley-gateway";

const duration = (fallback: DurationText) => z.string().default(fallback).transform(durationSetting);
const whole = (fallback: number) => z.coerce.number().int().min(1).max(1_000_000).default(fallback);

/** For front ends and workers: both list what is behind the gateway. */
export const upstreamsEnvironment = {
  PARLEY_UPSTREAMS: z
    .string()
    .optional()
    .describe(
      "File that lists the MCP servers behind the gateway: ./parley.upstreams.json, or a module such as ./parley.config.ts. Unset: none.",
    ),
};

/** For workers only, which make the calls. */
export const gatewayEnvironment = {
  PARLEY_ELICITATION: z
    .stringbool()
    .default(true)
    .describe("Whether servers behind the gateway may ask people. If false, their questions are refused."),
  PARLEY_ELICITATION_TIMEOUT: duration("1d").describe(
    "How long a question from a server behind the gateway waits for its answer, if the caller has a task.",
  ),
  PARLEY_ELICITATION_BLOCKING_TIMEOUT: duration("60s").describe("How long such a question waits while the caller holds the call open."),
  PARLEY_ELICITATIONS_MAX: whole(5_000).describe("Maximum number of open questions from servers behind the gateway, in one worker."),
  PARLEY_ELICITATIONS_PRINCIPAL_MAX: whole(1_000).describe("Maximum number of such questions for one caller, in one worker."),
  PARLEY_ELICITATIONS_SESSION_MAX: whole(100).describe("Maximum number of such questions for one session of a caller, in one worker."),
  PARLEY_ELICITATIONS_CALL_MAX: whole(100).describe(
    "Maximum number of questions that one call to a server behind the gateway may ask in total.",
  ),
  PARLEY_ELICITATIONS_RATE: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe(
      "Maximum number of questions per minute that servers behind the gateway may ask one caller, in all workers together. Without identity, each session is a caller. 0: no limit.",
    ),
  PARLEY_UPSTREAM_CALLS_MAX: whole(5_000).describe(
    "Maximum number of concurrent calls to servers behind the gateway in one worker, waiting ones included.",
  ),
};

export interface ElicitationSettings {
  readonly isEnabled: boolean;
  readonly timeoutMs: number;
  readonly blockingTimeoutMs: number;
  readonly openMax: number;
  readonly principalMax: number;
  readonly sessionMax: number;
  readonly callMax: number;
  /** Of one caller, in all workers together. Without identity, each session is a caller. 0: no limit. */
  readonly perMinute: number;
}

export interface GatewaySettings {
  readonly elicitation: ElicitationSettings;
  readonly callsMax: number;
}

const schema = z.object(gatewayEnvironment);

export function gatewaySettings(environment: z.output<typeof schema>): GatewaySettings {
  return {
    elicitation: {
      isEnabled: environment.PARLEY_ELICITATION,
      timeoutMs: environment.PARLEY_ELICITATION_TIMEOUT,
      blockingTimeoutMs: environment.PARLEY_ELICITATION_BLOCKING_TIMEOUT,
      openMax: environment.PARLEY_ELICITATIONS_MAX,
      principalMax: environment.PARLEY_ELICITATIONS_PRINCIPAL_MAX,
      sessionMax: environment.PARLEY_ELICITATIONS_SESSION_MAX,
      callMax: environment.PARLEY_ELICITATIONS_CALL_MAX,
      perMinute: environment.PARLEY_ELICITATIONS_RATE,
    },
    callsMax: environment.PARLEY_UPSTREAM_CALLS_MAX,
  };
}
