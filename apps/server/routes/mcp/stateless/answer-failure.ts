import { unmasked } from "@parley/core";
import { isDefect, type RequestId } from "@parley/protocol";
import type { Intent } from "@parley/protocol/stateless";
import type { Outlet } from "../../../streams/outlet.ts";
import type { Mcp } from "./mcp.ts";

interface Failed {
  readonly id: RequestId;
  readonly method: string;
  readonly error: unknown;
  readonly intent?: Intent;
}

/** What is nobody's fault but ours is logged, and the caller told under which id. */
export function answerFailure({ services, log, encode }: Mcp, outlet: Outlet, { method, error, ...rest }: Failed): void {
  const defectId = services.ids.uuid();
  if (isDefect(error)) log.error({ defectId, method, err: error }, "request failed");
  const shown = unmasked(error, { defectId, showErrors: services.settings.showErrors });
  outlet.end(encode.failure({ ...rest, error: shown, defectId }));
}
