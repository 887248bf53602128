/** The lint rules for authors: `"jsPlugins": ["@parley/sdk/lint"]`. oxlint and ESLint take them. */
import { noDroppedCall } from "./no-dropped-call.ts";
import { noImpureHandler } from "./no-impure-handler.ts";

import { preferMap } from "./prefer-map.ts";

export default {
  meta: { name: "parley" },
  rules: { "no-impure-handler": noImpureHandler, "no-dropped-call": noDroppedCall, "prefer-map": preferMap },
};
