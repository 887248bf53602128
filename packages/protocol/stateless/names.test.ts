import * as sdk from "@modelcontextprotocol/server";
import { TASKS_EXTENSION_ID_V2 } from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect, test } from "vitest";
import { RELATED_TASK } from "../related-task.ts";
import { UNSUPPORTED_VERSION } from "../versions.ts";
import * as names from "./names.ts";

test("reserved names and codes are those of the official packages", () => {
  expect({
    PROTOCOL_VERSION: sdk.PROTOCOL_VERSION_META_KEY,
    CLIENT_CAPABILITIES: sdk.CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO: sdk.CLIENT_INFO_META_KEY,
    LOG_LEVEL: sdk.LOG_LEVEL_META_KEY,
    SERVER_INFO: sdk.SERVER_INFO_META_KEY,
    SUBSCRIPTION_ID: sdk.SUBSCRIPTION_ID_META_KEY,
    RELATED_TASK: sdk.RELATED_TASK_META_KEY,
    TASKS_EXTENSION: TASKS_EXTENSION_ID_V2,
    MISSING_CAPABILITY: sdk.ProtocolErrorCode.MissingRequiredClientCapability,
    UNSUPPORTED_VERSION: sdk.ProtocolErrorCode.UnsupportedProtocolVersion,
    // Only the classifier exposes it.
    HEADER_MISMATCH: -32020,
  }).toStrictEqual({ ...names, RELATED_TASK, UNSUPPORTED_VERSION });
});
