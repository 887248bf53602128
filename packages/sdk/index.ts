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
  SelectOption,
  SelectOptions,
  TextOptions,
  UrlOptions,
  VisitOptions,
} from "./asks/options.ts";
export { type CatalogueSource, catalogue } from "./catalogue.ts";
export type { CompensationContext, Done } from "./compensation.ts";
export * from "./content.ts";
export type { AskResult, ContentOf, Context, FormAsk, FormContent, SleepOptions, StepOptions, UrlAsk, WaitOptions } from "./context.ts";
export type { Definition } from "./definition.ts";
export { type DryRun, type DryRunOptions, type PlannedAsk, dryRun } from "./dry-run.ts";
export { ask, patched, step } from "./generator/ask.ts";
export type {
  AllYield,
  ArtifactYield,
  AskYield,
  CheckpointYield,
  EmitYield,
  FileYield,
  PatchedYield,
  AsyncToolGenerator,
  StepYield,
  ToolGenerator,
  Yielded,
} from "./generator/yields.ts";
export type { BodyOf, EventOptions, TaskEvent } from "./event.ts";
export type { FilesAsk, PageAsk } from "./pages.ts";
export { loadCatalogue } from "./load-catalogue.ts";
export { type Module, type ModuleDefinition, defineModule } from "./module.ts";
export { Cancelled, Declined, DefinitionError, TimedOut, Unanswered, Withdrawn } from "./failures.ts";
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
export { type DataToolDefinition, type Icon, type RunOptions, type ToolAnnotations, type ToolDefinition, defineTool } from "./tool.ts";
