/**
 * What clients of both families can want: the decoded requests that read alike in every revision, checked for shape but not for what they
 * name. Each family adds its own.
 */

/** Chosen by the client; progress notifications for its request carry it. */
export type ProgressToken = string | number;

export interface List {
  readonly type: "listTools" | "listPrompts" | "listResources" | "listTemplates";
  readonly cursor?: string;
}

export interface Complete {
  readonly type: "complete";
  readonly of: { readonly type: "prompt"; readonly name: string } | { readonly type: "template"; readonly uri: string };
  readonly argument: string;
  readonly value: string;
  /** The arguments that were filled in before. */
  readonly others: { readonly [name: string]: string };
}

export interface CancelTask {
  readonly type: "cancelTask";
  readonly taskId: string;
}
