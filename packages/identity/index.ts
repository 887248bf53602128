/** Who calls: access tokens, what vouches for them, and what the environment says about both. */
export { isLoopback } from "./address.ts";
export { newApiKey } from "./api-key.ts";
export { createIdentity, type Identity, type Incoming } from "./identity.ts";
export { isJwt } from "./jwt.ts";
export { identityProblems } from "./problems.ts";
export { identityEnvironment, identitySettings, type IdentitySettings, resourceUrl } from "./settings.ts";
