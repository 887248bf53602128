/** Identifies callers by access tokens, API keys and proxies, with their settings; and lets people grant access at OAuth providers to tools. */
export { isLoopback } from "./address.ts";
export { newApiKey } from "./api-key.ts";
export { createIdentity, type Identity, type Incoming } from "./identity.ts";
export { isJwt } from "./jwt.ts";
export { createLogin, type Login, type LoginBegun } from "./login.ts";
export { createOauthProviders, type OauthDirectory, type OauthProvider, TOKEN_CHARS_MAX } from "./oauth/provider.ts";
export { OauthFileError, type OauthProviderSettings } from "./oauth/providers-file.ts";
export { OAUTH_CALLBACK_PATH, oauthEnvironment, oauthProblems, oauthScopes, openOauthFile } from "./oauth/settings.ts";
export { identityProblems } from "./problems.ts";
export { identityEnvironment, identitySettings, type IdentitySettings, LOGIN_CALLBACK_PATH, resourceUrl } from "./settings.ts";
