/** Whether changed code still replays tasks that wait: for `parley replay`, and for tests of a project's own. */
export {
  EXPORT_FORMAT,
  readRecordedTask,
  type RecordedTask,
  redactJson,
  type Redaction,
  toRecordedTask,
  type UnreadableTask,
} from "./recorded-task.ts";
export { type ChangedQuestion, type Replayed, replayRecorded, type ReplayOptions, type Verdict } from "./replay-recorded.ts";
