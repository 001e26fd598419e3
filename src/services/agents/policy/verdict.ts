/** Decides about a permission dialog by the operator's policies. */

import type { Approval } from "../../../core/policy/approvals.ts";
import type { GateMatcher } from "../../../core/policy/gate.ts";
import { preview } from "../../../core/policy/held-action.ts";
import type { Dialog, DialogChoice } from "../screen-rules/read-screen.ts";
import { type AgentPolicy, whole } from "./policy-file.ts";

export type Decision = "allow" | "deny";

export type Verdict =
	| { readonly decision: Decision }
	/** A person decides: no expression matches, or the command is not known in full. */
	| { readonly decision: "ask"; readonly reason: Extract<Approval["reason"], "always" | "unreadable"> };

type Judging = { readonly judge: GateMatcher; readonly account: string };

export function policyFor(
	policies: readonly AgentPolicy[],
	{ workspace, app }: { readonly workspace: string; readonly app: string },
): AgentPolicy | undefined {
	return policies.find(
		({ workspaces, agents }) => (workspaces?.includes(workspace) ?? true) && (agents?.includes(app) ?? true),
	);
}

/** Rejects with `limit_exceeded` if too many texts wait to be judged. */
export async function judged(
	{ command }: Pick<Dialog, "command">,
	{ deny = [], allow = [] }: AgentPolicy,
	{ judge, account }: Judging,
): Promise<Verdict> {
	// Expressions are tried on each line. With invisible characters, the command is not what the screen shows.
	if (command === null || command.includes("\n") || preview(command) !== command)
		return { decision: "ask", reason: "unreadable" };
	const isDenied = deny.length > 0 && (await judge(account, deny, command));
	if (isDenied === "match") return { decision: "deny" };
	if (isDenied === "unreadable") return { decision: "ask", reason: "unreadable" };
	const isAllowed = allow.length > 0 && (await judge(account, allow.map(whole), command)) === "match";
	return isAllowed ? { decision: "allow" } : { decision: "ask", reason: "always" };
}

/** The choice that allows or denies once; undefined unless exactly one choice does. */
export function choiceFor(decision: Decision, { rule, choices }: Dialog): DialogChoice | undefined {
	const pattern = decision === "allow" ? rule.allows : rule.denies;
	if (pattern === undefined) return undefined;
	const found = choices.filter(({ label }) => new RegExp(pattern, "u").test(label));
	return found.length === 1 ? found[0] : undefined;
}

/** The text of the dialog, as approvers see it and the audit records it. */
export function shownText({ question, details }: Dialog): string {
	return [question, details].filter((part) => part !== null).join("\n\n");
}
