import { ParleyError } from "@parley/core";

/** Ids are Parley's own. Nothing else becomes a path, or a name in a bucket. The id of a task that another one called ends in a tilde. */
const TASK_ID = /^[\w-]{1,64}~?$/;
const FILE_ID = /^[0-9a-f-]{36}$/;

export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

export function isFileId(text: string): boolean {
  return FILE_ID.test(text);
}

export function gone(): ParleyError {
  return new ParleyError("FILE_GONE", "there is no such file of this task");
}
