/** MCP's content and results, as tools return them. Binary data is base64. */
import type { JsonObject } from "@parley/core";

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

export interface TextContent extends Annotated {
  readonly type: "text";
  readonly text: string;
}

export interface ImageContent extends Annotated {
  readonly type: "image";
  readonly data: string;
  readonly mimeType: string;
}

export interface AudioContent extends Annotated {
  readonly type: "audio";
  readonly data: string;
  readonly mimeType: string;
}

export interface EmbeddedResource extends Annotated {
  readonly type: "resource";
  readonly resource:
    | { readonly uri: string; readonly mimeType?: string; readonly text: string }
    | { readonly uri: string; readonly mimeType?: string; readonly blob: string };
}

export interface ResourceLink extends Annotated {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

export type ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

export interface CallToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

export interface GetPromptResult {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
}

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

export interface SamplingReply extends SamplingMessage {
  readonly model: string;
  readonly stopReason?: string;
}

export interface Root {
  /** A `file://` uri. */
  readonly uri: string;
  readonly name?: string;
}

export function text(value: string): TextContent {
  return { type: "text", text: value };
}
