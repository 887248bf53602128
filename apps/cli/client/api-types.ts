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
    readonly "/asks/{taskId}/{key}/claim": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Says that the caller is on a question, for some minutes
         * @description A claim keeps nobody from answering. It ends by itself, by a release, and by an answer; another one of the same person renews it. In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["claimAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}/release": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Ends the caller's claim, if there is one
         * @description In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["releaseAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}/comments": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Adds a comment, which everyone who may read the question sees
         * @description The question stays open, and its tool learns nothing of it. In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["commentOnAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}/ask-back": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Asks the person who made the call something before the caller answers, if the tool allows that
         * @description It is a comment that wants a reply: `askedBack` until then. Where the tool allows `pause`, the deadline stands still until the reply. In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["askBack"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}/reply": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Replies to `askedBack`, for the person who made the call
         * @description In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["replyToAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}/delegate": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Hands the caller's part in a question on to others, if its tool allows that
         * @description They may answer from then on, and the caller may not. The caller may hand their part to others instead, and takes it back by naming themselves. In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["delegateAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}/snooze": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Puts a question aside for the caller until a time, in place of an earlier one
         * @description Only the caller's own lists and counts leave it out. It comes back at that time, or before if it changes: when people are reminded, others are asked as well, somebody comments, or hands it to the caller. In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["snoozeAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/{taskId}/{key}/unsnooze": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Brings a question back that the caller has put aside
         * @description In this address, write slashes of the key as `%2F`.
         */
        readonly post: operations["unsnoozeAsk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/asks/batch": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Answers several questions, or with `preview` says which answers would count
         * @description Each answer has its own receipt, in the order of the request, and counts on its own. Each counts against the caller's rates.
         */
        readonly post: operations["answerAsks"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tasks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Lists the caller's own tasks, or those of others that ask the caller something, the newest first */
        readonly get: operations["listTasks"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tasks/{taskId}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Returns one task; for its owner with its result or error */
        readonly get: operations["getTask"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tasks/{taskId}/timeline": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Returns what one of the caller's tasks has done so far: its journal without content, and what it reported */
        readonly get: operations["getTimeline"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tasks/{taskId}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Cancels one of the caller's tasks */
        readonly post: operations["cancelTask"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tools": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Lists the tools that the caller is offered, by name */
        readonly get: operations["listTools"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tools/{name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Returns one tool */
        readonly get: operations["getTool"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/tools/{name}/calls": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Calls a tool, which becomes a task of the caller
         * @description Its questions and its result are read at the task. A tool that needs a client with a model or folders is refused.
         */
        readonly post: operations["callTool"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/approvals": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Returns what became of the calls of the caller's tenant that rules made wait for approval, for each rule
         * @description For operators: with identity, it needs the scope `admin:read`, which no client gets by itself.
         */
        readonly get: operations["reportApprovals"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/approvals/standing": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Lists the standing approvals that the caller gave, or that let the caller's own calls pass, the first to end first
         * @description With the scope `admin:read`, all of the caller's tenant.
         */
        readonly get: operations["listStandingApprovals"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/approvals/standing/{id}/revoke": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Ends a standing approval that the caller gave, or that lets the caller's own calls pass: the next call asks again */
        readonly post: operations["revokeStandingApproval"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export interface components {
    schemas: {
        readonly Addressees: {
            readonly people?: readonly string[];
            readonly groups?: readonly string[];
            readonly roles?: readonly string[];
        };
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
        readonly Answerer: {
            readonly principal: string;
            /** @description Whether this is the caller */
            readonly isCaller: boolean;
            /** @description What the person was called when they did it. For people to read: several may have the same */
            readonly name?: string;
        };
        readonly ApprovalReport: {
            /** Format: date-time */
            readonly since: string;
            readonly rules: readonly components["schemas"]["ApprovalRule"][];
            readonly isMoreWaiting: boolean;
        };
        readonly ApprovalRule: {
            readonly rule: string;
            /** @description Calls that were made to wait */
            readonly asked: number;
            readonly approved: number;
            readonly refused: number;
            /** @description Nobody decided in time */
            readonly expired: number;
            /** @description The question ended without a decision */
            readonly closed: number;
            /** @description The call was cancelled while it waited */
            readonly withdrawn: number;
            /** @description Approved, but not run: the rules or the tool had changed */
            readonly void: number;
            /** @description Share of the decisions that were approvals, 0 to 1. Absent without a decision */
            readonly yes?: number;
            /** @description Median of the time from the question to the decision, in milliseconds */
            readonly medianMs?: number;
            /** @description 90 % of decisions took at most this many milliseconds */
            readonly p90Ms?: number;
            /** @description Approvals within 5 seconds of the question */
            readonly quick: number;
            /** @description Those who decided most often */
            readonly people: readonly {
                readonly principal: string;
                readonly approved: number;
                readonly refused: number;
            }[];
            /** @description Tests of those who approve: calls that nobody made, whose right answer is no */
            readonly tests?: {
                readonly asked: number;
                /** @description Refused, as was right */
                readonly caught: number;
                /** @description Approved */
                readonly missed: number;
                /** @description Those who approved most of them */
                readonly missedBy: readonly {
                    readonly principal: string;
                    readonly missed: number;
                }[];
            };
            /** @description Calls that wait now */
            readonly waiting: number;
            /** @description The one of them that has waited longest */
            readonly oldest?: {
                readonly taskId: string;
                /** Format: date-time */
                readonly askedAt: string;
            };
        };
        readonly Ask: components["schemas"]["OpenAsk"] | components["schemas"]["SettledAsk"];
        readonly AskBackReceipt: {
            /** @constant */
            readonly receipt: "asked_back";
        };
        readonly AskBackRequest: {
            readonly text: string;
        };
        readonly AskCount: {
            /** @description At most 100 */
            readonly count: number;
            /** @description There are more, which are not counted */
            readonly isMore: boolean;
        };
        readonly AskedBack: {
            readonly by: components["schemas"]["Answerer"];
            /** Format: date-time */
            readonly at: string;
            readonly text: string;
            /**
             * @description The deadline stands still until the reply: `deadline` is the latest that it can be
             * @constant
             */
            readonly isPaused?: true;
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
            /** @description What people read as the name of the tool; absent if it has no title */
            readonly toolTitle?: string;
            /** @description Whose task asks */
            readonly owner: components["schemas"]["Owner"];
            /** Format: date-time */
            readonly askedAt: string;
            /** Format: date-time */
            readonly deadline: string;
            /**
             * Format: date-time
             * @description When the tool wants an answer; nothing happens then. Absent if it does not say
             */
            readonly due?: string;
            /** @enum {string} */
            readonly priority: "urgent" | "high" | "normal" | "low";
            /**
             * @description What follows a yes cannot be undone: ask and answer it by itself, and choose nothing for the person. Absent otherwise
             * @constant
             */
            readonly isRisky?: true;
            /** @description What happens at the deadline */
            readonly onTimeout: ("cancel" | "decline" | "fail") | {
                readonly default: {
                    readonly [key: string]: unknown;
                };
            };
            /** @description Absent if in any way */
            readonly assurance?: components["schemas"]["Assurance"];
            /** @description Who else is asked; absent if only the owner of the task is */
            readonly audience?: components["schemas"]["Audience"];
            /** @description With a quorum: how many people have accepted */
            readonly accepted?: number;
            /** @description Who is on it; absent if nobody is. Everyone who may answer still may */
            readonly claimedBy?: components["schemas"]["Claim"];
            /** @description Absent for none */
            readonly commentCount?: number;
            /** @description In whose place the caller is asked; absent if in their own */
            readonly delegatedBy?: components["schemas"]["Answerer"];
            /** @description Absent for nothing, and once that person has replied */
            readonly askedBack?: components["schemas"]["AskedBack"];
            /**
             * @description The caller may not answer it, and is wanted to reply to `askedBack`
             * @constant
             */
            readonly isToReply?: true;
            /**
             * Format: date-time
             * @description Until when the caller has put it aside, for themselves alone; absent if they have not
             */
            readonly snoozedUntil?: string;
            /**
             * Format: date-time
             * @description When those who have not answered were last reminded; absent for never
             */
            readonly remindedAt?: string;
            /** @description Who was asked as well because nobody had answered; absent for nobody */
            readonly escalatedTo?: readonly ("tenant" | components["schemas"]["Addressees"])[];
        };
        readonly Assurance: {
            /**
             * @description `login`: on its page or in the inbox, after a login in a browser. `token`: by any client, but not by a model
             * @enum {string}
             */
            readonly by: "token" | "login";
            /** @description How long ago the person may have logged in */
            readonly withinSeconds?: number;
            /** @description One of these classes of a login, as the provider states it */
            readonly acr?: readonly string[];
            /** @description All of these methods of a login */
            readonly amr?: readonly string[];
        };
        readonly Audience: {
            readonly to: "tenant" | components["schemas"]["Addressees"];
            /**
             * @description Whoever made the call may not answer
             * @constant
             */
            readonly not?: "caller";
            /** @description How many people must accept */
            readonly quorum?: number;
        };
        readonly Batch: {
            /** @description At most PARLEY_REPLIES_MAX, 64 by default */
            readonly answers: readonly components["schemas"]["BatchAnswer"][];
            /** @default false */
            readonly preview: boolean;
        };
        readonly BatchAnswer: {
            readonly taskId: string;
            readonly key: string;
            /** @enum {string} */
            readonly action: "accept" | "decline" | "cancel";
            /** @description As the question's `schema` requires; none for an address to visit */
            readonly content?: unknown;
            /** @description Why it is declined, at most 1000 characters */
            readonly reason?: string;
            /** @description That of the question as it was read */
            readonly digest?: string;
        };
        readonly BatchReceipt: {
            readonly taskId: string;
            readonly key: string;
            /**
             * @description `valid`: in a preview, this answer would count. `login_required`: only an answer after a login in a browser counts. `unknown`: there is no such question for the caller. `refused`: see `code`
             * @enum {string}
             */
            readonly receipt: "valid" | "accepted" | "duplicate" | "late" | "invalid" | "forbidden" | "login_required" | "unknown" | "refused";
            /** @description How many more people must accept */
            readonly missing?: number;
            readonly violations?: readonly components["schemas"]["Violation"][];
            /** @description As in docs/errors.md */
            readonly code?: string;
            readonly retryAfterSeconds?: number;
        };
        readonly BatchReceipts: {
            readonly receipts: readonly components["schemas"]["BatchReceipt"][];
        };
        readonly Call: {
            /** @default {} */
            readonly arguments: {
                readonly [key: string]: unknown;
            };
            /** @description Why the call is made, for people who have to approve it */
            readonly reason?: string;
            /** @description How long the finished task is kept, within the bounds of the server */
            readonly keepSeconds?: number;
        };
        readonly Cancellation: {
            /** @description Shown as the task's status message */
            readonly reason?: string;
        };
        readonly CancelReceipt: {
            /**
             * @description `finished`: the task had ended before, and stays as it is
             * @enum {string}
             */
            readonly receipt: "cancelled" | "finished";
        };
        readonly Claim: {
            readonly principal: string;
            /** @description Whether this is the caller */
            readonly isCaller: boolean;
            /** @description What the person was called when they did it. For people to read: several may have the same */
            readonly name?: string;
            /**
             * Format: date-time
             * @description When it ends by itself
             */
            readonly until: string;
        };
        readonly ClaimReceipt: {
            /** @constant */
            readonly receipt: "claimed";
            readonly claimedBy: components["schemas"]["Claim"];
        };
        readonly ClaimRequest: {
            /** @default 10 */
            readonly minutes: number;
        };
        readonly Comment: {
            readonly text: string;
            readonly by: components["schemas"]["Answerer"];
            /** Format: date-time */
            readonly at: string;
            /**
             * @description A question to the person who made the call, or their reply; absent for a comment
             * @enum {string}
             */
            readonly as?: "askedBack" | "replied";
        };
        readonly CommentReceipt: {
            /** @constant */
            readonly receipt: "commented";
        };
        readonly CommentRequest: {
            readonly text: string;
        };
        readonly ContextPart: {
            /** @constant */
            readonly type: "text";
            readonly title?: string;
            readonly text: string;
        } | {
            /** @constant */
            readonly type: "table";
            readonly title?: string;
            readonly columns: readonly string[];
            readonly rows: readonly (readonly (string | number)[])[];
        } | {
            /** @enum {string} */
            readonly type: "link" | "picture";
            readonly title: string;
            readonly url: string;
        } | {
            /** @constant */
            readonly type: "diff";
            readonly title?: string;
            readonly before: string;
            readonly after: string;
        };
        readonly DelegationReceipt: {
            /** @constant */
            readonly receipt: "delegated";
        };
        readonly DelegationRequest: {
            readonly to: components["schemas"]["Addressees"];
            readonly reason: string;
        };
        readonly Happened: {
            /** @enum {string} */
            readonly what: "asked" | "claimed" | "released" | "commented" | "delegated" | "askedBack" | "replied" | "reminded" | "escalated" | "snoozed" | "answered" | "accepted" | "declined" | "cancelled" | "timed_out" | "withdrawn" | "closed";
            /** @description Absent if nobody did it, or if it is no longer known who */
            readonly by?: components["schemas"]["Answerer"];
            /**
             * Format: date-time
             * @description Absent if it is no longer known
             */
            readonly at?: string;
            /**
             * Format: date-time
             * @description Of a claim or a snooze: when it ends, unless it ended before
             */
            readonly until?: string;
            /** @description Of a delegation or an escalation: who may answer from then on */
            readonly to?: "tenant" | components["schemas"]["Addressees"];
            /** @description Of a delegation */
            readonly reason?: string;
            /** @description Of a delegation: whose part was handed on, if not that of `by` */
            readonly from?: components["schemas"]["Answerer"];
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
            /** @description What people read as the name of the tool; absent if it has no title */
            readonly toolTitle?: string;
            /** @description Whose task asks */
            readonly owner: components["schemas"]["Owner"];
            /** Format: date-time */
            readonly askedAt: string;
            /** Format: date-time */
            readonly deadline: string;
            /**
             * Format: date-time
             * @description When the tool wants an answer; nothing happens then. Absent if it does not say
             */
            readonly due?: string;
            /** @enum {string} */
            readonly priority: "urgent" | "high" | "normal" | "low";
            /**
             * @description What follows a yes cannot be undone: ask and answer it by itself, and choose nothing for the person. Absent otherwise
             * @constant
             */
            readonly isRisky?: true;
            /** @description What happens at the deadline */
            readonly onTimeout: ("cancel" | "decline" | "fail") | {
                readonly default: {
                    readonly [key: string]: unknown;
                };
            };
            /** @description Absent if in any way */
            readonly assurance?: components["schemas"]["Assurance"];
            /** @description Who else is asked; absent if only the owner of the task is */
            readonly audience?: components["schemas"]["Audience"];
            /** @description With a quorum: how many people have accepted */
            readonly accepted?: number;
            /** @description Who is on it; absent if nobody is. Everyone who may answer still may */
            readonly claimedBy?: components["schemas"]["Claim"];
            /** @description Absent for none */
            readonly commentCount?: number;
            /** @description In whose place the caller is asked; absent if in their own */
            readonly delegatedBy?: components["schemas"]["Answerer"];
            /** @description Absent for nothing, and once that person has replied */
            readonly askedBack?: components["schemas"]["AskedBack"];
            /**
             * @description The caller may not answer it, and is wanted to reply to `askedBack`
             * @constant
             */
            readonly isToReply?: true;
            /**
             * Format: date-time
             * @description Until when the caller has put it aside, for themselves alone; absent if they have not
             */
            readonly snoozedUntil?: string;
            /**
             * Format: date-time
             * @description When those who have not answered were last reminded; absent for never
             */
            readonly remindedAt?: string;
            /** @description Who was asked as well because nobody had answered; absent for nobody */
            readonly escalatedTo?: readonly ("tenant" | components["schemas"]["Addressees"])[];
            /**
             * @description `accepted`: the caller has accepted, and others are missing. `of-others`: the caller's task asks others, or the question was handed on from the caller
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
            /** @description What the person should see to decide, above the form */
            readonly context?: readonly components["schemas"]["ContextPart"][];
            /** @description What those who are asked may do besides answering; absent for nothing */
            readonly allow?: readonly ("delegate" | "askBack" | "pause")[];
            /** @description What happens while nobody answers, besides the deadline: when people are reminded, and when others are asked as well */
            readonly upcoming?: readonly components["schemas"]["Upcoming"][];
            /** @description Of `of-others`: how the caller's part went to others, by the caller or not; absent if the caller never had one */
            readonly handedOn?: components["schemas"]["Happened"];
            /** @description What happened with it, the oldest first */
            readonly history: readonly components["schemas"]["Happened"][];
            /** @description The oldest first */
            readonly comments: readonly components["schemas"]["Comment"][];
        };
        readonly Owner: {
            readonly principal: string;
            /** @description Whether this is the caller */
            readonly isCaller: boolean;
            /** @description What the person who made the call was called then. For people to read: several may have the same. Absent where callers are not identified, and in calls to earlier versions */
            readonly name?: string;
            /** @description The address that the identity provider has verified; absent if it has not */
            readonly email?: string;
            /** @description The subject at the identity provider; absent for a machine with an API key */
            readonly subject?: string;
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
        readonly ReleaseReceipt: {
            /** @constant */
            readonly receipt: "released";
        };
        readonly ReleaseRequest: Record<string, never>;
        readonly ReplyReceipt: {
            /** @constant */
            readonly receipt: "replied";
        };
        readonly ReplyRequest: {
            readonly text: string;
        };
        readonly Revocation: Record<string, never>;
        readonly RevocationReceipt: {
            /** @enum {string} */
            readonly receipt: "revoked";
        };
        readonly SettledAsk: {
            /** @constant */
            readonly state: "settled";
            readonly taskId: string;
            readonly key: string;
            readonly tool: string;
            /** @description What people read as the name of the tool; absent if it has no title */
            readonly toolTitle?: string;
            readonly owner: components["schemas"]["Owner"];
            /** @enum {string} */
            readonly end: "answered" | "accepted" | "declined" | "cancelled" | "timed_out" | "withdrawn" | "closed";
            /**
             * @description Nobody made the call: it was to show whether people look, and the right answer was no
             * @constant
             */
            readonly isTest?: true;
            /** @description Who answered; absent if nobody did */
            readonly by?: components["schemas"]["Answerer"];
            /** @description In whose place; absent if in their own */
            readonly delegatedBy?: components["schemas"]["Answerer"];
            /** @description With a quorum: everyone whose acceptance counted */
            readonly acceptedBy?: readonly {
                readonly principal: string;
                /** @description Whether this is the caller */
                readonly isCaller: boolean;
                /** @description What the person was called when they did it. For people to read: several may have the same */
                readonly name?: string;
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
            /** @description What happened with it, the oldest first */
            readonly history: readonly components["schemas"]["Happened"][];
            /** @description The oldest first */
            readonly comments: readonly components["schemas"]["Comment"][];
        };
        readonly SnoozeReceipt: {
            /** @constant */
            readonly receipt: "snoozed";
            /** Format: date-time */
            readonly until: string;
        };
        readonly SnoozeRequest: {
            /**
             * Format: date-time
             * @description Before the question's deadline, and at most 366 days ahead
             */
            readonly until: string;
        };
        readonly StandingApproval: {
            readonly id: string;
            readonly rule: string;
            /** @description The rule's title */
            readonly title: string;
            readonly tool: string;
            /** @description Principal whose calls it lets pass */
            readonly caller: string;
            /** @description Principal who gave it */
            readonly by: string;
            /** Format: date-time */
            readonly grantedAt: string;
            /** Format: date-time */
            readonly until: string;
            /** @description How many calls it was given for */
            readonly uses: number;
            /** @description How many of them are left */
            readonly left: number;
        };
        readonly StandingApprovals: {
            readonly approvals: readonly components["schemas"]["StandingApproval"][];
        };
        readonly Task: {
            readonly taskId: string;
            /** @description Name of the tool or prompt */
            readonly tool: string;
            /** @description What people read as the name of the tool; absent if it has no title */
            readonly toolTitle?: string;
            /** @enum {string} */
            readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
            readonly statusMessage?: string;
            readonly owner: components["schemas"]["Owner"];
            /** Format: date-time */
            readonly createdAt: string;
            /** Format: date-time */
            readonly updatedAt: string;
            /**
             * Format: date-time
             * @description When a finished task is deleted, at the earliest
             */
            readonly expiresAt?: string;
            /** @description Open questions that the caller may answer */
            readonly asks: readonly components["schemas"]["AskSummary"][];
            /** @description Open questions that wait for others; 0 if the task is not the caller's */
            readonly asksOfOthers: number;
        };
        readonly TaskPage: {
            readonly tasks: readonly components["schemas"]["Task"][];
            /** @description Absent on the last page */
            readonly nextCursor?: string;
        };
        readonly TaskWithEnd: {
            readonly taskId: string;
            /** @description Name of the tool or prompt */
            readonly tool: string;
            /** @description What people read as the name of the tool; absent if it has no title */
            readonly toolTitle?: string;
            /** @enum {string} */
            readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
            readonly statusMessage?: string;
            readonly owner: components["schemas"]["Owner"];
            /** Format: date-time */
            readonly createdAt: string;
            /** Format: date-time */
            readonly updatedAt: string;
            /**
             * Format: date-time
             * @description When a finished task is deleted, at the earliest
             */
            readonly expiresAt?: string;
            /** @description Open questions that the caller may answer */
            readonly asks: readonly components["schemas"]["AskSummary"][];
            /** @description Open questions that wait for others; 0 if the task is not the caller's */
            readonly asksOfOthers: number;
            /** @description Of a completed task of the caller: its result, as MCP has it */
            readonly result?: {
                readonly [key: string]: unknown;
            };
            /** @description Of a failed task of the caller */
            readonly error?: {
                readonly code: number;
                readonly message: string;
                readonly data?: unknown;
            };
        };
        readonly Timeline: {
            readonly task: {
                readonly id: string;
                readonly name: string;
                /** @description What people read as the name of the tool; absent if it has no title */
                readonly toolTitle?: string;
                /** @enum {string} */
                readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
                readonly run: number;
                /** @description Milliseconds since 1970 */
                readonly createdAtMs: number;
                /** @description Milliseconds since 1970 */
                readonly updatedAtMs: number;
            } & {
                readonly [key: string]: unknown;
            };
            /** @description Milliseconds since 1970 */
            readonly nowMs: number;
            readonly asks: readonly ({
                readonly key: string;
                readonly type: string;
                /** @description Milliseconds since 1970 */
                readonly askedAtMs: number;
                /** @description Milliseconds since 1970 */
                readonly deadlineMs: number;
                readonly isPutToOthers: boolean;
            } & {
                readonly [key: string]: unknown;
            })[];
            readonly journal: {
                readonly entries: number;
                /** @description How many of them a replay settles */
                readonly settled: number;
                readonly lines: readonly ({
                    readonly kind: string;
                    readonly name: string;
                } & {
                    readonly [key: string]: unknown;
                })[];
            } & {
                readonly [key: string]: unknown;
            };
            readonly feed: {
                readonly items: readonly ({
                    readonly type: string;
                } & {
                    readonly [key: string]: unknown;
                })[];
                readonly cursor?: string;
                readonly more: boolean;
            } & {
                readonly [key: string]: unknown;
            };
        } & {
            readonly [key: string]: unknown;
        };
        readonly Tool: {
            readonly name: string;
            readonly title?: string;
            readonly description?: string;
            /** @description JSON Schema of the arguments */
            readonly inputSchema: {
                readonly [key: string]: unknown;
            };
            readonly outputSchema?: {
                readonly [key: string]: unknown;
            };
            /** @description Scopes that a call needs beside `tools:call` */
            readonly scopes?: readonly string[];
        };
        readonly ToolPage: {
            readonly tools: readonly components["schemas"]["Tool"][];
            /** @description Absent on the last page */
            readonly nextCursor?: string;
        };
        readonly UnsnoozeReceipt: {
            /** @constant */
            readonly receipt: "unsnoozed";
        };
        readonly UnsnoozeRequest: Record<string, never>;
        readonly Upcoming: {
            /** @enum {string} */
            readonly what: "reminded" | "escalated";
            /** Format: date-time */
            readonly at: string;
            readonly to?: "tenant" | components["schemas"]["Addressees"];
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
                readonly priority?: "urgent" | "high" | "normal" | "low";
                /** @description Questions of the caller's own tasks that others answer, and that wait for the caller's reply: `only` these, or `any`. Without it they are left out */
                readonly toReply?: "only" | "any";
                /** @description What the caller has put aside: `only` that, or `any` question. Without it that is left out */
                readonly snoozed?: "only" | "any";
                readonly order?: "oldest" | "newest" | "deadline" | "due" | "priority";
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
                readonly priority?: "urgent" | "high" | "normal" | "low";
                /** @description Questions of the caller's own tasks that others answer, and that wait for the caller's reply: `only` these, or `any`. Without it they are left out */
                readonly toReply?: "only" | "any";
                /** @description What the caller has put aside: `only` that, or `any` question. Without it that is left out */
                readonly snoozed?: "only" | "any";
                readonly order?: "oldest" | "newest" | "deadline" | "due" | "priority";
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
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
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
            /** @description The question is put to others (`receipt` is `forbidden`), or needs a login in a browser, `assurance` (`login_required`); `detail` names the page */
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
    readonly claimAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ClaimRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ClaimReceipt"];
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
            /** @description Somebody else is on it (`receipt` is `taken`; `claimedBy` says who), or the question is closed (`late`) */
            readonly 409: {
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
    readonly releaseAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReleaseReceipt"];
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
            /** @description The question is closed */
            readonly 409: {
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
    readonly commentOnAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CommentRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CommentReceipt"];
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
            /** @description The question is closed (`receipt` is `late`), or has too many comments (`full`) */
            readonly 409: {
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
    readonly askBack: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["AskBackRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AskBackReceipt"];
                };
            };
            /** @description The question is put to others (`receipt` is `forbidden`), or its tool does not allow this, or the call is the caller's own (`not_allowed`) */
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
            /** @description The question is closed (`receipt` is `late`), the caller has accepted it (`accepted`), or it has too many comments (`full`) */
            readonly 409: {
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
    readonly replyToAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ReplyRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReplyReceipt"];
                };
            };
            /** @description The call is somebody else's */
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
            /** @description The question is closed (`receipt` is `late`), nobody waits for a reply (`not_asked`), or it has too many comments (`full`) */
            readonly 409: {
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
    readonly delegateAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["DelegationRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DelegationReceipt"];
                };
            };
            /** @description The question is put to others (`receipt` is `forbidden`), or its tool does not allow this (`not_allowed`) */
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
            /** @description The question is closed (`receipt` is `late`), the caller or somebody in their place has accepted (`accepted`), or it was handed on too often (`full`) */
            readonly 409: {
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
    readonly snoozeAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SnoozeRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["SnoozeReceipt"];
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
            /** @description The question is closed (`receipt` is `late`), or the caller has put too many aside (`full`) */
            readonly 409: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The time is over or too far away (`not_then`), or the question closes before (`closes_before`) */
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
    readonly unsnoozeAsk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["UnsnoozeRequest"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["UnsnoozeReceipt"];
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
            /** @description The question is closed */
            readonly 409: {
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
    readonly answerAsks: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Batch"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BatchReceipts"];
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
    readonly listTasks: {
        readonly parameters: {
            readonly query?: {
                /** @description `others`: tasks of others with an open question for the caller */
                readonly owner?: "me" | "others";
                /** @description One of working, input_required, completed, failed, cancelled, or several with commas between them */
                readonly status?: string;
                /** @description Name of the tool */
                readonly tool?: string;
                readonly createdAfter?: string;
                readonly createdBefore?: string;
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
                    readonly "application/json": components["schemas"]["TaskPage"];
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
    readonly getTask: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly taskId: string;
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
                    readonly "application/json": components["schemas"]["TaskWithEnd"];
                };
            };
            /** @description Unchanged since the `ETag` in `If-None-Match` */
            readonly 304: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such task, or the caller may not see it */
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
    readonly getTimeline: {
        readonly parameters: {
            readonly query?: {
                /** @description `feed.cursor` of the reading before: only later reports are returned */
                readonly after?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly taskId: string;
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
                    readonly "application/json": components["schemas"]["Timeline"];
                };
            };
            /** @description Unchanged since the `ETag` in `If-None-Match` */
            readonly 304: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The task is not the caller's */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such task, or the caller may not see it */
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
    readonly cancelTask: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly taskId: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Cancellation"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CancelReceipt"];
                };
            };
            /** @description The task is not the caller's */
            readonly 403: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such task, or the caller may not see it */
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
    readonly listTools: {
        readonly parameters: {
            readonly query?: {
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
                    readonly "application/json": components["schemas"]["ToolPage"];
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
    readonly getTool: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly name: string;
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
                    readonly "application/json": components["schemas"]["Tool"];
                };
            };
            /** @description Unchanged since the `ETag` in `If-None-Match` */
            readonly 304: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such tool, or it is not offered to the caller */
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
    readonly callTool: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Call"];
            };
        };
        readonly responses: {
            /** @description Created */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Task"];
                };
            };
            /** @description There is no such tool, or it is not offered to the caller */
            readonly 404: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The arguments do not fit the tool, or the idempotency key belongs to another call */
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
    readonly reportApprovals: {
        readonly parameters: {
            readonly query?: {
                /** @description How many days are counted, including today (UTC) */
                readonly days?: number;
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
                    readonly "application/json": components["schemas"]["ApprovalReport"];
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
    readonly listStandingApprovals: {
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
                    readonly "application/json": components["schemas"]["StandingApprovals"];
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
    readonly revokeStandingApproval: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A request with a key is done once: send it again with the same key if its reply was lost */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Revocation"];
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RevocationReceipt"];
                };
            };
            /** @description There is no such standing approval, or the caller may not see it */
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
}
