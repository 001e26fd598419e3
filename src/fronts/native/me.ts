/** The caller, its rights, and the server, for the start of a user interface. */

import type { Me } from "../../api/types.ts";
import type { Principal } from "../../core/policy/access.ts";
import { defaultWorkspace } from "../../core/session/workspaces.ts";
import type { Right } from "../../words/rights.ts";
import type { NativeOptions } from "./options.ts";
import type { Serve } from "./serve.ts";

const rightsFromTheTop: readonly Right[] = ["manage", "operate", "read"];

export function addMe(serve: Serve, options: NativeOptions): void {
	serve("getMe", async ({ caller }) => {
		const { id, name, isAdmin: admin, scopes, expiresAt } = caller;
		return {
			id,
			name,
			admin,
			scopes,
			expiresAt,
			workspaces: workspacesOf(caller, options),
			guest: guestOf(scopes),
			server: { name: options.name, version: options.version },
			limits: options.limits,
		};
	});
}

/** Known workspaces, and those that the caller may use before they exist. */
function workspacesOf(principal: Principal, { workspaces, sessions }: NativeOptions): Me["workspaces"] {
	const known = [
		defaultWorkspace,
		...workspaces.list().map(({ id }) => id),
		...sessions.list().map(({ spec }) => spec.workspace),
		...principal.scopes.flatMap((scope) => /^workspace:([^:]+):/.exec(scope)?.[1] ?? []),
	];
	return [...new Set(known)].sort().flatMap((workspace) => {
		const right = rightsFromTheTop.find((one) => principal.may(one, { workspace }));
		return right ? [{ id: workspace, right }] : [];
	});
}

/** A guest's only scope is one session. */
function guestOf(scopes: readonly string[]): Me["guest"] {
	const [, session, right] = /^session:([^:]+):(view|control)$/.exec(scopes[0] ?? "") ?? [];
	if (scopes.length !== 1 || session === undefined) return null;
	return { session, right: right === "control" ? "control" : "view" };
}
