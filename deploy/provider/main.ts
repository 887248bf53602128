/** Runs the provider as a process. ISSUER is its own address, RESOURCE the address that its tokens are for; HOST and PORT say where it listens. */
import { createProvider, PEOPLE } from "./provider.ts";

const {
  ISSUER: issuer = "http://localhost:3002",
  RESOURCE: resource = "http://localhost:3000/mcp",
  HOST: host = "127.0.0.1",
  PORT: port = "3002",
} = process.env;

const provider = createProvider({
  issuer,
  resource,
  pages: new URL(resource).origin,
  scopes: ["tools:call", "tasks:read", "asks:answer"],
  tokenSeconds: () => 600,
});
provider.listen(Number(port), host, () => {
  console.log(`${issuer} logs in ${Object.keys(PEOPLE).join(", ")} with any password, for ${resource}`);
});
process.once("SIGTERM", () => process.exit(0));
