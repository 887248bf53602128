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
  ContextPart,
  Assurance,
  Priority,
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
export type { ArgumentsOf, CallOptions, ResultOf, TypedTool } from "./context/call.ts";
export { type CatalogueSource, catalogue } from "./define/catalogue.ts";
export type { CompensationContext, Done } from "./context/compensation.ts";
export * from "./results/content.ts";
export type {
  Accepted,
  AnsweredBy,
  AskOf,
  AskResult,
  ContentOf,
  Elicited,
  FormAsk,
  Person,
  QuorumAsk,
  FormContent,
  UrlAsk,
} from "./asks/ask.ts";
export type { MapItem, MapKey, MapOptions } from "./context/map.ts";
export type { Caller, Context, SleepOptions, StepOptions, WaitOptions } from "./context/context.ts";
export type { Definition } from "./define/definition.ts";
export { type DryRun, type DryRunOptions, type PlannedAsk, dryRun } from "./context/dry-run.ts";
export { ask, call, event, patched, received, roots, sample, sleep, step } from "./generator/ask.ts";
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
export type { BodyOf, EventOptions, TaskEvent } from "./asks/event.ts";
export { Grant } from "./values/grant.ts";
export type { AboutOptions, Escalate, LoginNeeded } from "./asks/about.ts";
export type { WizardAnswers, WizardFile, WizardOptions, WizardPage, WizardPages, WizardResult, WizardStep } from "./asks/wizard.ts";
export type { FilesAsk, OauthAsk, PageAsk } from "./asks/pages.ts";
export { isModulePath, loadCatalogue } from "./define/load-catalogue.ts";
export { type Module, type ModuleDefinition, defineModule } from "./define/module.ts";
export { Cancelled, ChildFailed, Declined, DefinitionError, TimedOut, Unanswered, Withdrawn } from "./failures.ts";
export { type PromptArgumentDefinition, type PromptDefinition, type PromptReturn, definePrompt } from "./define/prompt.ts";
export type { Recorded } from "./schemas/recorded-type.ts";
export {
  type ResourceDefinition,
  type ResourceReturn,
  type ResourceTemplateDefinition,
  defineResource,
  defineResourceTemplate,
} from "./define/resource.ts";
export { type InputOf, type OutputOf, type Schema, jsonSchema } from "./schemas/schema.ts";
export { Secret } from "./values/secret.ts";
export { type StructuredResult, type ToolReturn } from "./results/tool-result.ts";
export {
  type DataToolDefinition,
  type Icon,
  type RunOptions,
  type ToolAnnotations,
  type ToolDefinition,
  type ToolLimit,
  defineTool,
} from "./define/tool.ts";
