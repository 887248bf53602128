import type { RequestId } from "@parley/protocol";
import type { Intent } from "@parley/protocol/stateless";
import type { Outlet } from "../../../streams/outlet.ts";
import { reportDefect } from "../shared/defects.ts";
import type { Mcp } from "./mcp.ts";

interface Failed {
  readonly id: RequestId;
  readonly method: string;
  readonly error: unknown;
  readonly intent?: Intent;
}

export function answerFailure(mcp: Mcp, outlet: Outlet, { method, error, ...rest }: Failed): void {
  outlet.end(mcp.encode.failure({ ...rest, error, defectId: reportDefect(mcp, error, { method }) }));
}
