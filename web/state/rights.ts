/** What the one who is signed in may do with a session. */

import type { Me, SessionMessage } from "hawser/client";

export type Rights = {
	readonly mayType: boolean;
	/** Make links to it. */
	readonly mayShare: boolean;
	/** Start programs where it is. */
	readonly mayStart: boolean;
	/** This session is all that there is. */
	readonly isGuest: boolean;
};

/** Nothing, while it is not known who we are. */
export function rightsIn(me: Me | undefined, { id, workspace }: Pick<SessionMessage, "id" | "workspace">): Rights {
	if (!me) return { mayType: false, mayShare: false, mayStart: false, isGuest: false };
	const right = me.admin ? "manage" : me.workspaces.find((one) => one.id === workspace)?.right;
	const isControlled = me.scopes.includes(`session:${id}:control`);
	return {
		mayType: right === "manage" || right === "operate" || isControlled,
		mayShare: me.guest === null && right !== undefined,
		mayStart: right === "manage",
		isGuest: me.guest !== null,
	};
}
