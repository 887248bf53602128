/** MCP's content and results, as tools return them. Binary data is base64. */
import type { JsonObject } from "@parley/core";

/** The audience of a content block, its priority, and when it changed (MCP, `Annotations`). */
export interface ContentAnnotations {
  readonly audience?: readonly ("user" | "assistant")[];
  /** 0 to 1. */
  readonly priority?: number;
  readonly lastModified?: string;
}

interface Annotated {
  readonly annotations?: ContentAnnotations;
  readonly _meta?: JsonObject;
}

/** A text. */
export interface TextContent extends Annotated {
  readonly type: "text";
  readonly text: string;
}

/** An image; `data` is base64. */
export interface ImageContent extends Annotated {
  readonly type: "image";
  readonly data: string;
  readonly mimeType: string;
}

/** A sound; `data` is base64. */
export interface AudioContent extends Annotated {
  readonly type: "audio";
  readonly data: string;
  readonly mimeType: string;
}

/** A resource with its content. */
export interface EmbeddedResource extends Annotated {
  readonly type: "resource";
  readonly resource:
    | { readonly uri: string; readonly mimeType?: string; readonly text: string }
    | { readonly uri: string; readonly mimeType?: string; readonly blob: string };
}

/** A link to a resource that the client may read. */
export interface ResourceLink extends Annotated {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

/** One part of a result or of a prompt's message (MCP, `ContentBlock`). */
export type ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

/** A tool's whole result, as MCP has it. */
export interface CallToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** One message of a prompt. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

/** A prompt's whole result, as MCP has it. */
export interface GetPromptResult {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
}

/** A message for the client's model, or from it. */
export interface SamplingMessage {
  readonly role: "user" | "assistant";
  readonly content: TextContent | ImageContent | AudioContent;
}

/** MCP's `sampling/createMessage` params. */
export interface SamplingRequest {
  readonly messages: readonly SamplingMessage[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly includeContext?: "none" | "thisServer" | "allServers";
  readonly modelPreferences?: {
    readonly hints?: readonly { readonly name?: string }[];
    readonly costPriority?: number;
    readonly speedPriority?: number;
    readonly intelligencePriority?: number;
  };
  readonly metadata?: JsonObject;
}

/** A completion by the client's model (MCP, `CreateMessageResult`). */
export interface SamplingReply extends SamplingMessage {
  readonly model: string;
  readonly stopReason?: string;
}

/** A folder that the client works in. */
export interface Root {
  /** A `file://` URI. */
  readonly uri: string;
  readonly name?: string;
}

/** A text as a content block. */
export function text(value: string): TextContent {
  return { type: "text", text: value };
}
