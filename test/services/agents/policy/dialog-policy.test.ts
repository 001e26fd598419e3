/** Policies applied to the dialogs of an agent in a session. */

import { expect, it, onTestFinished } from "vitest";
import { fullAccess } from "../../../../src/access/fixed-access.ts";
import { systemClock } from "../../../../src/backends/system-clock.ts";
import { type Approval, Approvals } from "../../../../src/core/policy/approvals.ts";
import type { AuditEntry } from "../../../../src/core/policy/audit.ts";
import type { Session } from "../../../../src/core/session/session.ts";
import { Agents } from "../../../../src/services/agents/agents.ts";
import { DialogPolicy } from "../../../../src/services/agents/policy/dialog-policy.ts";
import type { AgentPolicy } from "../../../../src/services/agents/policy/policy-file.ts";
import { promptAgent } from "../../../../src/services/agents/prompt.ts";
import { Attachments } from "../../../../src/services/attachments/attachments.ts";
import { GateJudge } from "../../../../src/services/gates/judge.ts";
import { type RunningAgent, runningAgent, screenText } from "../../../support/agents.ts";
import { eventually, write } from "../../../support/reading.ts";

const person = fullAccess("person");

type Site = RunningAgent & { readonly approvals: Approvals; readonly entries: AuditEntry[]; readonly agents: Agents };

/** An agent in a session for which these policies hold. */
async function siteWith(policies: readonly AgentPolicy[]): Promise<Site> {
	const running = await runningAgent("codex");
	const { session, screens } = running;
	const report = (problem: unknown) => {
		throw problem;
	};
	const agents = new Agents({
		sessions: { get: () => session },
		attachments: new Attachments(),
		screens,
		now: Date.now,
		report,
	});
	let last = 0;
	const approvals = new Approvals({ clock: systemClock, newId: () => `approval-${++last}` });
	const judge = new GateJudge();
	const entries: AuditEntry[] = [];
	const policy = new DialogPolicy({
		policies,
		sessions: { list: () => [session], watch: () => () => {} },
		agents,
		approvals,
		judge: judge.judge,
		audit: { record: (entry) => entries.push(entry) },
		report,
	});
	onTestFinished(() => {
		policy.close();
		approvals.close();
		agents.close();
		judge.close();
	});
	return { ...running, approvals, entries, agents };
}

function shows({ screens, session }: Site, text: string): Promise<unknown> {
	return eventually(text, async () => (await screenText({ screens, session })).includes(text));
}

function held({ approvals }: Site, session: Session): Promise<Approval> {
	return eventually("a held dialog", async () => approvals.heldOn(session.id)[0]);
}

function actions({ entries }: Site): string[] {
	return entries.map(({ action }) => action).filter((action) => action !== "input");
}

it("a dialog that a policy allows or denies is answered, and the audit has what was shown", async () => {
	const site = await siteWith([{ allow: ["touch \\w+"], deny: ["rm "] }]);
	await promptAgent(site.typing, "shell touch one then rm two");
	await shows(site, "• finished No, and tell Codex what to do differently (esc)");
	expect(await screenText(site)).toContain("• finished Yes, proceed (y)");
	const shown = (command: string) => `Would you like to run the following command?\n\n$ ${command}`;
	expect(site.entries.filter(({ action }) => action === "agent-permission")).toMatchObject([
		{
			decision: "allow",
			app: "codex",
			command: "touch one",
			shown: shown("touch one"),
			by: { id: "policy", front: "agent-policy" },
		},
		{ decision: "deny", app: "codex", shown: shown("rm two"), session: site.session.id },
	]);
	expect(actions(site)).not.toContain("approval-asked");
});

it("any other dialog is held, and a grant answers it before it is reported", async () => {
	const site = await siteWith([{ allow: ["ls"] }]);
	await promptAgent(site.typing, "shell touch one");
	const approval = await held(site, site.session);
	expect(approval).toMatchObject({
		kind: "permission",
		reason: "always",
		by: { id: "agent:codex", name: "agent:codex" },
		preview: "Would you like to run the following command?\n\n$ touch one",
	});
	expect(await site.approvals.decide(person, approval.id, { decision: "grant" })).toMatchObject({ state: "granted" });
	expect(await screenText(site)).toContain("• finished Yes, proceed (y)");
	await eventually("the end", async () => actions(site).includes("approval-ended"));
	expect(actions(site)).toEqual(["approval-asked", "agent-permission", "approval-ended"]);
	expect(site.entries.find(({ action }) => action === "agent-permission")).toMatchObject({
		approval: approval.id,
		decision: "allow",
		by: { id: person.id, front: "agent-policy" },
	});
});

it("a denial answers the dialog, too", async () => {
	const site = await siteWith([{}]);
	await promptAgent(site.typing, "shell touch one");
	const { id } = await held(site, site.session);
	expect(await site.approvals.decide(person, id, { decision: "deny" })).toMatchObject({ state: "denied" });
	expect(await screenText(site)).toContain("• finished No, and tell Codex");
});

it("a dialog whose command is not known in full is held, whatever a policy allows", async () => {
	const site = await siteWith([{ allow: [".*"], deny: ["touch"] }]);
	await promptAgent(site.typing, `shell touch ${"x".repeat(70)}`);
	expect(await held(site, site.session)).toMatchObject({ kind: "permission", reason: "unreadable" });
	expect(actions(site)).toEqual(["approval-asked"]);
});

it("a held dialog that is answered at the terminal is withdrawn, and the next one is held on its own", async () => {
	const site = await siteWith([{}]);
	await promptAgent(site.typing, "shell touch one then touch two");
	const first = await held(site, site.session);
	await write(site.session, "1");
	const second = await eventually("the next dialog", async () =>
		site.approvals.heldOn(site.session.id).find(({ id }) => id !== first.id),
	);
	expect(second.preview).toContain("$ touch two");
	expect(site.approvals.get(person, first.id)).toMatchObject({
		state: "withdrawn",
		note: "the dialog was answered elsewhere, or has closed",
	});
	await expect(site.approvals.decide(person, first.id, { decision: "grant" })).rejects.toMatchObject({
		code: "conflict",
	});
	expect((await site.agents.read(site.session))?.state).toBe("blocked");
	expect(await screenText(site)).toContain("$ touch two");
	expect(actions(site)).not.toContain("agent-permission");
});

it("a decision about a dialog that has just changed types nothing", async () => {
	const site = await siteWith([{}]);
	await promptAgent(site.typing, "shell touch one then touch two");
	const first = await held(site, site.session);
	// Nothing has read the next dialog when the grant comes.
	await write(site.session, "1");
	const decided = await site.approvals.decide(person, first.id, { decision: "grant" }).catch((error: unknown) => error);
	expect(["withdrawn", "expired", "conflict"]).toContain(
		(decided as { readonly state?: string; readonly code?: string }).state ??
			(decided as { readonly code: string }).code,
	);
	await shows(site, "$ touch two");
	const next = await eventually("the next dialog", async () =>
		site.approvals.heldOn(site.session.id).find(({ id }) => id !== first.id),
	);
	expect(next.preview).toContain("$ touch two");
	expect(await screenText(site)).not.toMatch(/finished Yes[\s\S]*finished Yes/);
});

it("a workspace without a policy, and a question, hold nothing", async () => {
	const other = await siteWith([{ workspaces: ["elsewhere"] }]);
	await promptAgent(other.typing, "shell touch one");
	await eventually("the dialog", async () => (await other.agents.read(other.session))?.state === "blocked");
	const site = await siteWith([{}]);
	await promptAgent(site.typing, "question");
	await shows(site, "Which database");
	// A dialog that comes later is held.
	await write(site.session, "\r");
	await shows(site, "• finished SQLite");
	await promptAgent(site.typing, "shell touch one");
	await held(site, site.session);
	expect(actions(site)).toEqual(["approval-asked"]);
	expect(other.approvals.heldOn(other.session.id)).toEqual([]);
});
