/** What tool authors import. */
export { type Duration, ParleyError, RpcFailure, RunStopped, StepFailed, type StopReason, ToolError } from "@parley/core";
export type {
  Announcement,
  Ask,
  ClientCapabilities,
  EmitKind,
  FileRef,
  Json,
  JsonObject,
  LogLevel,
  ResourceContents,
  StepAttempt,
  Task,
  Tool,
  Violation,
} from "@parley/core";
export type {
  ConfirmOptions,
  DateOptions,
  FormOptions,
  NumberOptions,
  ReturnOptions,
  SelectOption,
  SelectOptions,
  TextOptions,
  UrlOptions,
  VisitOptions,
} from "./asks/options.ts";
export type { ArgumentsOf, CallOptions, ResultOf, TypedTool } from "./call.ts";
export { type CatalogueSource, catalogue } from "./catalogue.ts";
export type { CompensationContext, Done } from "./compensation.ts";
export * from "./content.ts";
export type {
  Accepted,
  AnsweredBy,
  AskOf,
  AskResult,
  ContentOf,
  Context,
  Elicited,
  FormAsk,
  Person,
  QuorumAsk,
  FormContent,
  SleepOptions,
  StepOptions,
  UrlAsk,
  WaitOptions,
} from "./context.ts";
export type { Definition } from "./definition.ts";
export { type DryRun, type DryRunOptions, type PlannedAsk, dryRun } from "./dry-run.ts";
export { ask, call, event, patched, received, sleep, step } from "./generator/ask.ts";
export type {
  AllYield,
  ArtifactYield,
  AskYield,
  CallYield,
  CheckpointYield,
  EmitYield,
  EventYield,
  FileYield,
  PatchedYield,
  RaceYield,
  RestartYield,
  RootsYield,
  SampleYield,
  SleepYield,
  AsyncToolGenerator,
  StepYield,
  ToolGenerator,
  Yielded,
} from "./generator/yields.ts";
export type { BodyOf, EventOptions, TaskEvent } from "./event.ts";
export { Grant } from "./grant.ts";
export type { FilesAsk, OauthAsk, PageAsk } from "./pages.ts";
export { isModulePath, loadCatalogue } from "./load-catalogue.ts";
export { type Module, type ModuleDefinition, defineModule } from "./module.ts";
export { Cancelled, ChildFailed, Declined, DefinitionError, TimedOut, Unanswered, Withdrawn } from "./failures.ts";
export { type PromptArgumentDefinition, type PromptDefinition, type PromptReturn, definePrompt } from "./prompt.ts";
export type { Recorded } from "./recorded.ts";
export {
  type ResourceDefinition,
  type ResourceReturn,
  type ResourceTemplateDefinition,
  defineResource,
  defineResourceTemplate,
} from "./resource.ts";
export { type InputOf, type OutputOf, type Schema, jsonSchema } from "./schema.ts";
export { Secret } from "./secret.ts";
export { type StructuredResult, type ToolReturn } from "./tool-result.ts";
export {
  type DataToolDefinition,
  type Icon,
  type RunOptions,
  type ToolAnnotations,
  type ToolDefinition,
  type ToolLimit,
  defineTool,
} from "./tool.ts";
