/** `initialize` opens a session. It is the same in every revision, because it negotiates the revision (S25 basic/lifecycle). */
import { readCapabilities } from "../capabilities.ts";
import { errorMessage, given, INVALID_PARAMS, isObject, shapeOf, type Reply, type RequestId, type Wire } from "../json-rpc.ts";
import { BadParams, member, readParams, required } from "../params.ts";
import { SESSION_VERSIONS } from "../versions.ts";
import type { Initialize } from "./intents.ts";

export type InitializeRead = { readonly type: "initialize"; readonly initialize: Initialize } | ({ readonly type: "rejected" } & Reply);

/** Longer names and versions of clients are cut, because they are stored with the session. */
const CLIENT_INFO_CHARS = 100;

/** Reads `initialize`. Undefined if the message is a different one. */
export function readInitialize(message: unknown): InitializeRead | undefined {
  const shape = shapeOf(message);
  if (shape.type !== "request" || shape.method !== "initialize") return undefined;
  const initialize = readParams((params) => read(shape.id, params), shape.params);
  if (!(initialize instanceof BadParams)) return { type: "initialize", initialize };
  return { type: "rejected", httpStatus: 200, message: errorMessage(shape.id, { code: INVALID_PARAMS, message: initialize.message }) };
}

function read(id: RequestId, params: Wire): Initialize {
  const requested = required(params, "protocolVersion");
  const capabilities = readCapabilities(member(params, "capabilities", isObject, "an object"));
  if (typeof capabilities === "string") throw new BadParams(`capabilities.${capabilities} must be an object`);
  return {
    id,
    version: SESSION_VERSIONS.find((served) => served === requested) ?? SESSION_VERSIONS[0],
    capabilities,
    ...clientInfo(params),
  };
}

/** Optional: used only in logs. */
function clientInfo(params: Wire): Pick<Initialize, "clientInfo"> {
  const info = given(params, "clientInfo");
  if (!isObject(info)) return {};
  const [name, version] = [given(info, "name"), given(info, "version")];
  if (typeof name !== "string" || typeof version !== "string") return {};
  return { clientInfo: { name: name.slice(0, CLIENT_INFO_CHARS), version: version.slice(0, CLIENT_INFO_CHARS) } };
}
