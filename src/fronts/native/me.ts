/** Who the caller is and what it may do, and on which server: what a program for people shows before anything else. */

import type { Principal, Right } from "../../core/access.ts";
import { defaultWorkspace } from "../../core/workspaces.ts";
import type { Me } from "../../protocol/messages.ts";
import { me } from "./me-messages.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { principalOf } from "./request.ts";

const rightsFromTheTop: readonly Right[] = ["manage", "operate", "read"];

export function addMe(app: NativeApp, options: NativeOptions): void {
	app.get(
		"/v1/me",
		{
			config: { policy: "read", operation: "getMe", summary: "Who the caller is, and what it may do" },
			schema: { response: { 200: me } },
		},
		async (request): Promise<Me> => {
			const principal = principalOf(request);
			const { id, name, isAdmin: admin, scopes, expiresAt } = principal;
			return {
				id,
				name,
				admin,
				scopes: [...scopes],
				expiresAt,
				workspaces: workspacesOf(principal, options),
				guest: guestOf(scopes),
				server: { name: options.name, version: options.version },
				limits: options.limits,
			};
		},
	);
}

/** Those that are known to be there, and those that it may use before they are. */
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

/** Somebody with whom one session was shared, and nothing else. */
function guestOf(scopes: readonly string[]): Me["guest"] {
	const [, session, right] = /^session:([^:]+):(view|control)$/.exec(scopes[0] ?? "") ?? [];
	if (scopes.length !== 1 || session === undefined) return null;
	return { session, right: right === "control" ? "control" : "view" };
}
