/** Scopes of a token: `admin`, `metrics`, `workspace:ID:RIGHT` or `session:ID:RIGHT`. */

import type { Right } from "../../words/rights.ts";
import { SessionError } from "../errors.ts";
import type { AccessResource } from "./access.ts";

export type Scope =
	| { readonly kind: "admin" }
	/** The server's metrics, and no sessions. */
	| { readonly kind: "metrics" }
	| { readonly kind: "workspace"; readonly id: string; readonly right: Right }
	| { readonly kind: "session"; readonly id: string; readonly right: Right };

/** Each right includes those below it. */
const rank: Readonly<Record<Right, number>> = { read: 1, operate: 2, manage: 3 };

const workspaceRights: Readonly<Record<string, Right>> = { read: "read", operate: "operate", manage: "manage" };
/** Rights to a single session have other names. None of them allows ending it. */
const sessionRights: Readonly<Record<string, Right>> = { view: "read", control: "operate" };

export function parseScope(text: string): Scope {
	if (text === "admin" || text === "metrics") return { kind: text };
	// Match whole values: an id that begins like another one is a different id.
	const [, kind, id = "", word = ""] = /^(workspace|session):([A-Za-z0-9_.-]{1,64}):([a-z]{1,16})$/.exec(text) ?? [];
	const rights = kind === "workspace" ? workspaceRights : sessionRights;
	const right = Object.hasOwn(rights, word) ? rights[word] : undefined;
	if ((kind === "workspace" || kind === "session") && right !== undefined) return { kind, id, right };
	throw new SessionError("invalid_argument", `${JSON.stringify(text.slice(0, 60))} is not a scope`, {
		hint: "scopes are admin, metrics, workspace:ID:read|operate|manage and session:ID:view|control",
	});
}

/** The scope for a right to one session. */
export function sessionScope(session: string, right: Right): string {
	return `session:${session}:${right === "read" ? "view" : "control"}`;
}

export function holds(right: Right, wanted: Right): boolean {
	return rank[right] >= rank[wanted];
}

export function grants(scope: Scope, right: Right, place: AccessResource): boolean {
	switch (scope.kind) {
		case "admin":
			return true;
		case "metrics":
			return false;
		case "workspace":
			return scope.id === place.workspace && holds(scope.right, right);
		case "session":
			return scope.id === place.session && holds(scope.right, right);
	}
}

/** Whether these scopes give a right to any session or workspace. */
export function holdsAnywhere(scopes: readonly string[], wanted: Right): boolean {
	return scopes.map(parseScope).some((scope) => {
		if (scope.kind === "admin") return true;
		return scope.kind !== "metrics" && holds(scope.right, wanted);
	});
}

/** Whether the holder already has everything that `wanted` allows. */
export function covers(
	holder: readonly Scope[],
	wanted: Scope,
	workspaceOf: (session: string) => string | undefined,
): boolean {
	switch (wanted.kind) {
		case "admin":
			return holder.some(({ kind }) => kind === "admin");
		case "metrics":
			return holder.some(({ kind }) => kind === "admin" || kind === "metrics");
		case "workspace":
			return holder.some((scope) => grants(scope, wanted.right, { workspace: wanted.id }));
		case "session": {
			// No workspace has an empty name, so an unknown session is in none.
			const place = { workspace: workspaceOf(wanted.id) ?? "", session: wanted.id };
			return holder.some((scope) => grants(scope, wanted.right, place));
		}
	}
}
