/** Generated from docs/openapi.json by `npm run generate`. */
export interface paths {
    readonly "/asks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Lists the open questions that the caller may answer, regardless of whose task asks */
        readonly get: operations["listAsks"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/count": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Counts the open questions that the caller may answer */
        readonly get: operations["countAsks"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/changes": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Streams server-sent events: `count` and `isMore`, now and each time that the open questions change
         * @description Send the id of the last event in `Last-Event-ID` to continue at any front end.
         */
        readonly get: operations["followAsks"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Returns one question with what it asks; once it is settled, how it ended and who answered */
        readonly get: operations["getAsk"];
        readonly put?: never;
        /** Answers a question: accepts, declines or cancels it */
        readonly post: operations["answerAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly Answer: {
            /** @enum {string} */
            readonly action: "accept" | "decline" | "cancel";
            /** @description As the question's `schema` requires; none for an address to visit */
            readonly content?: unknown;
            /** @description Why it is declined, at most 1000 characters */
            readonly reason?: string;
            /** @description That of the question as it was read */
            readonly digest?: string;
        };
        readonly Ask: components["schemas"]["OpenAsk"] | components["schemas"]["SettledAsk"];
        readonly AskCount: {
            /** @description At most 100 */
            readonly count: number;
            /** @description There are more, which are not counted */
            readonly isMore: boolean;
        };
        readonly AskPage: {
            readonly asks: readonly components["schemas"]["AskSummary"][];
            /** @description Absent on the last page */
            readonly nextCursor?: string;
        };
        readonly AskSummary: {
            readonly taskId: string;
            /** @description Names the question within its task */
            readonly key: string;
            /** @enum {string} */
            readonly kind: "form" | "url";
            /** @description The question, at most 500 characters */
            readonly message: string;
            /** @description Name of the tool or prompt that asks */
            readonly tool: string;
            /** @description Whose task asks */
            readonly owner: components["schemas"]["Person"];
            /** Format: date-time */
            readonly askedAt: string;
            /** Format: date-time */
            readonly deadline: string;
            /** @description What happens at the deadline */
            readonly onTimeout: ("cancel" | "decline" | "fail") | {
                readonly default: {
                    readonly [key: string]: unknown;
                };
            };
            /** @description Who else is asked; absent if only the owner of the task is */
            readonly audience?: components["schemas"]["Audience"];
            /** @description With a quorum: how many people have accepted */
            readonly accepted?: number;
        };
        readonly Audience: {
            readonly to: "tenant" | {
                readonly people?: readonly string[];
                readonly groups?: readonly string[];
                readonly roles?: readonly string[];
            };
            /**
             * @description Whoever made the call may not answer
             * @constant
             */
            readonly not?: "caller";
            /** @description How many people must accept */
            readonly quorum?: number;
        };
        readonly OpenAsk: {
            readonly taskId: string;
            /** @description Names the question within its task */
            readonly key: string;
            /** @enum {string} */
            readonly kind: "form" | "url";
            /** @description The question, at most 500 characters */
            readonly message: string;
            /** @description Name of the tool or prompt that asks */
            readonly tool: string;
            /** @description Whose task asks */
            readonly owner: components["schemas"]["Person"];
            /** Format: date-time */
            readonly askedAt: string;
            /** Format: date-time */
            readonly deadline: string;
            /** @description What happens at the deadline */
            readonly onTimeout: ("cancel" | "decline" | "fail") | {
                readonly default: {
                    readonly [key: string]: unknown;
                };
            };
            /** @description Who else is asked; absent if only the owner of the task is */
            readonly audience?: components["schemas"]["Audience"];
            /** @description With a quorum: how many people have accepted */
            readonly accepted?: number;
            /**
             * @description `accepted`: the caller has accepted, and others are missing. `of-others`: the caller's task asks others
             * @enum {string}
             */
            readonly state: "open" | "accepted" | "of-others";
            /** @description Identifies what is asked. With it, an answer counts for this question only */
            readonly digest: string;
            readonly request: {
                /** @enum {string} */
                readonly type: "form" | "url";
                readonly message: string;
                /** @description JSON Schema of the content, for a form */
                readonly schema?: {
                    readonly [key: string]: unknown;
                };
                /** @description The address to visit */
                readonly url?: string;
            } & {
                readonly [key: string]: unknown;
            };
        };
        readonly Person: {
            readonly principal: string;
            /** @description Whether this is the caller */
            readonly isCaller: boolean;
        };
        readonly Problem: {
            readonly status: number;
            /** @description What is wrong, for people */
            readonly detail: string;
            /** @description As in docs/errors.md */
            readonly code?: string;
            /** @description What to do about it */
            readonly hint?: string;
            readonly violations?: readonly components["schemas"]["Violation"][];
        } & {
            readonly [key: string]: unknown;
        };
        readonly Receipt: {
            /**
             * @description `duplicate`: the same answer counted before
             * @enum {string}
             */
            readonly receipt: "accepted" | "duplicate";
            /** @description How many more people must accept */
            readonly missing?: number;
        };
        readonly SettledAsk: {
            /** @constant */
            readonly state: "settled";
            readonly taskId: string;
            readonly key: string;
            readonly tool: string;
            readonly owner: components["schemas"]["Person"];
            /** @enum {string} */
            readonly end: "answered" | "accepted" | "declined" | "cancelled" | "timed_out" | "withdrawn" | "closed";
            /** @description Who answered; absent if nobody did */
            readonly by?: components["schemas"]["Person"];
            /** @description With a quorum: everyone whose acceptance counted */
            readonly acceptedBy?: readonly {
                readonly principal: string;
                /** @description Whether this is the caller */
                readonly isCaller: boolean;
                /** Format: date-time */
                readonly at: string;
            }[];
            /** @description What the caller answered */
            readonly answer?: {
                readonly action: string;
                readonly content?: {
                    readonly [key: string]: unknown;
                };
                readonly reason?: string;
            };
            /** @description Why it was declined, for the owner of the task */
            readonly reason?: string;
            /** Format: date-time */
            readonly at?: string;
        };
        readonly Violation: {
            /** @description JSON Pointer to the wrong field; empty for the whole answer */
            readonly path: string;
            readonly message: string;
            /** @description Title of the field */
            readonly label?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Answer = components['schemas']['Answer'];
export type Ask = components['schemas']['Ask'];
export type AskCount = components['schemas']['AskCount'];
export type AskPage = components['schemas']['AskPage'];
export type AskSummary = components['schemas']['AskSummary'];
export type Audience = components['schemas']['Audience'];
export type OpenAsk = components['schemas']['OpenAsk'];
export type Person = components['schemas']['Person'];
export type Problem = components['schemas']['Problem'];
export type Receipt = components['schemas']['Receipt'];
export type SettledAsk = components['schemas']['SettledAsk'];
export type Violation = components['schemas']['Violation'];
export type $defs = Record<string, never>;
export interface operations {
    readonly listAsks: {
        readonly parameters: {
            readonly query?: {
                /** @description Name of the tool */
                readonly tool?: string;
                /** @description `me`: questions of the caller's own tasks; `others`: of other people's */
                readonly owner?: "me" | "others";
                readonly askedAfter?: string;
                readonly askedBefore?: string;
                readonly deadlineBefore?: string;
                readonly order?: "oldest" | "newest" | "deadline";
                /** @description Entries per page */
                readonly limit?: number;
                /** @description `nextCursor` of the page before, in the same order and with the same filters */
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AskPage"];
                };
            };
            /** @description Unchanged since the `ETag` in `If-None-Match` */
            readonly 304: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused: the request is wrong (400), its credentials (401, 403), the caller's quota (429) or this server for now (503) */
            readonly default: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly countAsks: {
        readonly parameters: {
            readonly query?: {
                /** @description Name of the tool */
                readonly tool?: string;
                /** @description `me`: questions of the caller's own tasks; `others`: of other people's */
                readonly owner?: "me" | "others";
                readonly askedAfter?: string;
                readonly askedBefore?: string;
                readonly deadlineBefore?: string;
                readonly order?: "oldest" | "newest" | "deadline";
                /** @description Entries per page */
                readonly limit?: number;
                /** @description `nextCursor` of the page before, in the same order and with the same filters */
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AskCount"];
                };
            };
            /** @description Unchanged since the `ETag` in `If-None-Match` */
            readonly 304: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused: the request is wrong (400), its credentials (401, 403), the caller's quota (429) or this server for now (503) */
            readonly default: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly followAsks: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
            /** @description Refused: the request is wrong (400), its credentials (401, 403), the caller's quota (429) or this server for now (503) */
            readonly default: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly getAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Ask"];
                };
            };
            /** @description Unchanged since the `ETag` in `If-None-Match` */
            readonly 304: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such question, or the caller may not read it */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the request is wrong (400), its credentials (401, 403), the caller's quota (429) or this server for now (503) */
            readonly default: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readonly answerAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Answer"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Receipt"];
                };
            };
            /** @description The question is put to others */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such question, or the caller may not read it */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The question is closed; `ask` says how it ended and who answered */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The answer does not fit the question, which stays open; `violations` says why */
            readonly 422: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused: the request is wrong (400), its credentials (401, 403), the caller's quota (429) or this server for now (503) */
            readonly default: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
