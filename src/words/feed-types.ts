/** Types of events of the feed. */

export const feedTypes = [
	"created",
	"exited",
	"closed",
	"lost",
	"removed",
	"waiting",
	"ready",
	"command",
	"quiet",
	"approval",
	"changed",
	"secret",
	"agent",
] as const;
