/**
 * The messages by which hooks report: a line of JSON each, with one in return. `agent.hook` is ours. The others are those
 * of hooks that people have installed for herdr.
 */

import { type HookState, hookText } from "./hook-events.ts";

/** What a hook has to say. */
export type HookRequest =
	/** An agent ran the hook for this event. */
	| { readonly kind: "event"; readonly event: string; readonly payload: unknown }
	/** The agent reports its own state. */
	| { readonly kind: "state"; readonly state: ReportedState; readonly message: string | null }
	/** Understood, and of no consequence. */
	| { readonly kind: "none" };

/** `resting` does not say whether a turn has ended. */
type ReportedState = HookState["state"] | "resting";

export type HookMessage = {
	readonly id: string;
	readonly request: HookRequest;
	/** The agent and the session that the hook names. The process decides about both. */
	readonly agent: string | undefined;
	readonly session: string | undefined;
};

/** Says why a message is refused. */
export type Refusal = { readonly id: string; readonly refused: string };

type Fields = Readonly<Record<string, unknown>>;

const NAME = /^[A-Za-z0-9_.+-]{1,64}$/;
/** In UTF-16 units. It is returned with the answer. */
const ID_LENGTH = 256;
const STATES: Readonly<Record<string, ReportedState>> = {
	working: "working",
	blocked: "blocked",
	idle: "resting",
};
const RELEASES: ReadonlySet<unknown> = new Set(["pane.release_agent", "pane.clear_agent_authority"]);
/** About other things than the state. */
const OTHERS: ReadonlySet<unknown> = new Set([
	"ping",
	"pane.report_agent_session",
	"pane.report_metadata",
	"pane.report_prompt",
]);

export function readHookMessage(line: string): HookMessage | Refusal {
	const message = parsed(line);
	const id = typeof message?.id === "string" ? message.id.slice(0, ID_LENGTH) : "";
	if (!message) return { id, refused: "expected a JSON object in one line" };
	const params = isFields(message.params) ? message.params : {};
	const request = requestOf(message.method, params);
	if (typeof request === "string") return { id, refused: request };
	const { agent, pane_id: session } = params;
	return {
		id,
		request,
		agent: typeof agent === "string" && NAME.test(agent) ? agent : undefined,
		session: typeof session === "string" ? session : undefined,
	};
}

/** The answer as herdr's hooks expect it. */
export function hookAnswer(id: string, refused: string | undefined): string {
	const answer =
		refused === undefined ? { id, result: { type: "ok" } } : { id, error: { code: "refused", message: refused } };
	return `${JSON.stringify(answer)}\n`;
}

function requestOf(method: unknown, params: Fields): HookRequest | string {
	if (method === "agent.hook") {
		const { event, payload } = params;
		if (typeof event !== "string" || !NAME.test(event)) return "event: must be the name of an event";
		return { kind: "event", event, payload };
	}
	if (method === "pane.report_agent") {
		const state = typeof params.state === "string" ? STATES[params.state] : undefined;
		if (state === undefined) return "state: must be working, blocked or idle";
		return { kind: "state", state, message: hookText(params.message) };
	}
	if (RELEASES.has(method)) return { kind: "state", state: "clear", message: null };
	return OTHERS.has(method) ? { kind: "none" } : "unknown method; a hook reports with agent.hook or pane.report_agent";
}

function parsed(line: string): Fields | undefined {
	try {
		const value = JSON.parse(line) as unknown;
		return isFields(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

function isFields(value: unknown): value is Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
