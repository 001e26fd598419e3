/**
 * Applies the operator's policies to permission dialogs: answers one that a policy allows or denies, and holds any other
 * for approval. Only the judged dialog is answered: if it has changed meanwhile, nothing is typed.
 *
 * Held dialogs exist only in this process. The next server finds the dialog on the screen and judges it again.
 */

import { createHash } from "node:crypto";
import type { AgentMessage } from "../../../api/types.ts";
import { SessionError } from "../../../core/errors.ts";
import { isEnded } from "../../../core/log/session-state.ts";
import type { CallerIdentity, Principal } from "../../../core/policy/access.ts";
import type { Approval, ApprovalRequest, Approvals } from "../../../core/policy/approvals.ts";
import type { Audit } from "../../../core/policy/audit.ts";
import { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import type { GateMatcher } from "../../../core/policy/gate.ts";
import { preview } from "../../../core/policy/held-action.ts";
import type { Session } from "../../../core/session/session.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { redact } from "../../reading/redaction.ts";
import { AgentTyping } from "../agent-typing.ts";
import type { Agents } from "../agents.ts";
import { answerAgent, isDialogOf } from "../answer.ts";
import type { Dialog } from "../screen-rules/read-screen.ts";
import type { AgentPolicy } from "./policy-file.ts";
import { choiceFor, type Decision, judged, policyFor, shownText, type Verdict } from "./verdict.ts";

/**
 * A dialog waits for as long as it is open; its agent waits, too.
 * @limit a held dialog of a coding agent | its approval expires, and the dialog stays open
 */
const HELD_MS = 24 * 60 * 60_000;
/** The screen shows the dialog of a state within this time. */
const SHOWN_MS = 5_000;
/** How the audit names the origin of these actions. */
const ORIGIN = { from: "server", front: "agent-policy" } as const;

type DialogPolicyOptions = {
	readonly policies: readonly AgentPolicy[];
	readonly sessions: Pick<Sessions, "list" | "watch">;
	readonly agents: Agents;
	readonly approvals: Approvals;
	readonly judge: GateMatcher;
	readonly audit: Audit;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

/** A dialog as it was judged. */
type JudgedDialog = { readonly agent: AgentMessage; readonly dialog: Dialog };

/** The open dialog of a session. `gone` aborts when another state follows. */
type OpenDialog = { readonly key: string; readonly gone: AbortController; isAnswering: boolean };

export class DialogPolicy {
	readonly #options: DialogPolicyOptions;
	readonly #followed = new Set<string>();
	readonly #closing = new AbortController();
	readonly #unwatch: () => void;

	constructor(options: DialogPolicyOptions) {
		this.#options = options;
		const { sessions } = options;
		for (const session of sessions.list()) this.#begin(session);
		this.#unwatch = sessions.watch(({ kind, session }) => {
			if (kind === "created") this.#begin(session);
		});
	}

	close(): void {
		this.#unwatch();
		this.#closing.abort();
	}

	#begin(session: Session): void {
		const { workspace, mode } = session.spec;
		const hasPolicy = this.#options.policies.some(({ workspaces }) => workspaces?.includes(workspace) ?? true);
		if (!hasPolicy || mode !== "pty" || isEnded(session.state) || this.#followed.has(session.id)) return;
		this.#followed.add(session.id);
		void this.#follow(session)
			.catch((error: unknown) => this.#note(error))
			.finally(() => this.#followed.delete(session.id));
	}

	async #follow(session: Session): Promise<void> {
		let open: OpenDialog | undefined;
		for await (const agent of this.#options.agents.follow(session, this.#closing.signal)) {
			const key = keyOf(agent);
			if (key === open?.key) continue;
			// The answer that closes a dialog ends it by itself.
			if (open && !open.isAnswering) open.gone.abort();
			open = undefined;
			if (!agent || key === undefined) continue;
			open = { key, gone: new AbortController(), isAnswering: false };
			void this.#judge(session, agent, open).catch((error: unknown) => this.#note(error));
		}
		open?.gone.abort();
	}

	async #judge(session: Session, agent: AgentMessage, open: OpenDialog): Promise<void> {
		const { policies, judge, agents } = this.#options;
		const { workspace } = session.spec;
		const policy = policyFor(policies, { workspace, app: agent.app });
		if (!policy) return;
		const signal = AbortSignal.any([open.gone.signal, this.#closing.signal]);
		const view = agents.view(session);
		const typing = new AgentTyping({ session, view, audited: (one) => one, fence: undefined, signal });
		const dialog = await typing.until(SHOWN_MS, (found) => {
			const shown = found?.reading?.dialog;
			return shown && isDialogOf(agent, shown) ? shown : undefined;
		});
		// A dialog that can't be both allowed and denied is answered at the terminal.
		if (signal.aborted || !dialog || !choiceFor("allow", dialog) || !choiceFor("deny", dialog)) return;
		const shown = { agent, dialog };
		const account = accountOf(session);
		const verdict = await judged(dialog, policy, { judge, account }).catch((error: unknown): Verdict => {
			this.#note(error);
			return { decision: "ask", reason: "unreadable" };
		});
		if (signal.aborted) return;
		if (verdict.decision === "ask") return this.#hold(session, shown, open, verdict.reason);
		const policyIdentity = identityOf("policy", this.#closing.signal);
		const fault = await this.#answer(session, shown, open, { decision: verdict.decision, by: policyIdentity });
		if (fault !== undefined && !signal.aborted) await this.#hold(session, shown, open, "always");
	}

	/** Waits until a person decides, or the dialog is gone. */
	async #hold(
		session: Session,
		{ agent, dialog }: JudgedDialog,
		open: OpenDialog,
		reason: Approval["reason"],
	): Promise<void> {
		const { approvals, audit } = this.#options;
		const { id, spec } = session;
		const by = identityOf(`agent:${agent.app}`, this.#closing.signal);
		const caller = new AuditedCaller(audit, ORIGIN, by, () => null);
		const place = { workspace: spec.workspace, session: id };
		const { offsets, lease } = await session.info();
		let approvalId: string | undefined;
		const request: ApprovalRequest = {
			session: { id, name: spec.name, workspace: spec.workspace },
			by: { id: by.id, name: by.name },
			account: accountOf(session),
			kind: "permission",
			reason,
			preview: preview(shownText(dialog)),
			sha256: digest(dialog),
			offset: offsets.end,
			fence: lease.fence,
			timeoutMs: HELD_MS,
			goneNote: "the dialog was answered elsewhere, or has closed",
			target: session,
			check: async () => undefined,
			carryOut: (decided, approver) => {
				const decision = decided === "grant" ? "allow" : "deny";
				return this.#answer(session, { agent, dialog }, open, { decision, by: approver, approval: approvalId });
			},
		};
		const approval = await approvals.hold(request, open.gone.signal, (asked) => {
			approvalId = asked.id;
			caller.record({ action: "approval-asked", approval: asked.id, what: asked.kind }, place);
		});
		caller.record({ action: "approval-ended", approval: approval.id, state: approval.state }, place);
	}

	/** Answers the dialog as it was judged. Resolves with the reason if that did not work. */
	async #answer(
		session: Session,
		{ agent, dialog }: JudgedDialog,
		open: OpenDialog,
		{
			decision,
			by,
			approval,
		}: { readonly decision: Decision; readonly by: CallerIdentity | Principal; readonly approval?: string | undefined },
	): Promise<string | undefined> {
		const { agents, audit } = this.#options;
		const caller = new AuditedCaller(audit, ORIGIN, by, () => null);
		const place = { workspace: session.spec.workspace, session: session.id };
		const typing = new AgentTyping({
			session,
			view: agents.view(session),
			audited: (one) => caller.session(one),
			fence: undefined,
			signal: this.#closing.signal,
		});
		const choice = choiceFor(decision, dialog)?.id ?? "";
		caller.record(
			{
				action: "agent-permission",
				app: agent.app,
				decision,
				command: dialog.command === null ? null : redact(dialog.command),
				shown: preview(redact(shownText(dialog))),
				sha256: digest(dialog),
				...(approval === undefined ? {} : { approval }),
			},
			place,
		);
		open.isAnswering = true;
		try {
			await agents.inTurn(session, () => answerAgent(typing, { episode: agent.episode, choice }, dialog));
			return undefined;
		} catch (error) {
			const { code, message } = SessionError.from(error);
			caller.record({ action: "agent-permission-failed", code }, place);
			return message;
		} finally {
			open.isAnswering = false;
		}
	}

	/** Refusals are part of a normal run: the keeper is gone, or too many actions are held. */
	#note(error: unknown): void {
		if (!(error instanceof SessionError) && !this.#closing.signal.aborted) this.#options.report(error);
	}
}

/** Identifies a permission dialog that was read from the screen; undefined for any other state. */
function keyOf(agent: AgentMessage | null): string | undefined {
	if (agent?.state !== "blocked" || agent.kind !== "permission" || agent.choices.length === 0) return undefined;
	const { app, episode, question, details, choices } = agent;
	return JSON.stringify([app, episode, question, details, choices]);
}

/** Each session's dialogs count on their own, so that one session takes no place of another. */
function accountOf({ id }: Session): string {
	return `agent:${id}`;
}

function identityOf(name: string, revoked: AbortSignal): CallerIdentity {
	return { id: name, account: name, name, gate: null, revoked, may: () => true };
}

function digest(dialog: Dialog): string {
	return createHash("sha256").update(shownText(dialog)).digest("hex");
}
