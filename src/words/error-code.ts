/** Error codes that callers get. The set is closed; every front maps them to its own. */

export const codes = [
	"invalid_argument",
	"unauthenticated",
	"token_ended",
	"permission_denied",
	"not_found",
	"session_not_found",
	"conflict",
	"session_exists",
	"session_closed",
	"not_writable",
	"not_waiting",
	"stale",
	"blocked",
	"invalid_choice",
	"not_approved",
	"limit_exceeded",
	"spawn_failed",
	"unsupported",
	"node_unavailable",
	"internal",
] as const;

export type Code = (typeof codes)[number];
