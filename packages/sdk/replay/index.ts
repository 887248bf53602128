/** Checks whether changed code still replays waiting tasks: for `parley replay`, and for a project's own tests. */
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
