/** What the ladder of this deployment needs: which rungs it allows, the tools with which models poll, and the addresses for its texts. */
import type { Rung } from "@parley/protocol";

export interface LadderSettings {
  /** Rungs that the deployment allows. */
  readonly rungs: ReadonlySet<Rung>;
  /** Names of the tools for clients that know tools only. Undefined: the tool is not served. */
  readonly taskTool: string | undefined;
  readonly asksTool: string | undefined;
}

export interface Ladder extends LadderSettings {
  pageOf(taskId: string, key: string): string;
  /** False: everyone is the same person, and the address of a page alone opens it. */
  readonly hasLogin: boolean;
  /** The view for hosts of MCP Apps, as HTML. Undefined: it is not built, and no client is on the rung of `apps`. */
  readonly askView: string | undefined;
}
