export { DENIAL, type Denied } from "./denial.ts";
export { gated, gatedTool, type GateOptions } from "./gate.ts";
export { approvalReport, type ApprovalReport, DECIDERS_SHOWN, QUICK_MS, type ReportedRule } from "./report.ts";
export { type Caller, type Decision, readRules, type RuleAbout, type Rules, type RulesConfig } from "./rules.ts";
export { openRulesFile, parseRules, RulesError, type RulesFile } from "./rules-file.ts";
export { type Unfitting, unfittingNames, unfittingText } from "./unfitting.ts";
