/** What agents ask people for: secrets, and that they approve. */

/** Asks for a secret to be typed by somebody who may. */
export type AskSecret = {
	/** What to call it. */
	name?: string;
	/** What it is for, in a sentence. */
	reason?: string;
};

/** A secret that is asked for. It is for the question that the program asks at `offset`, and for no other. */
export type SecretRequestMessage = {
	id: string;
	session: { id: string; name: string | null; workspace: string };
	name: string | null;
	reason: string | null;
	/** The line before the cursor. */
	prompt: string;
	program: string | null;
	offset: number;
	/** The name of who asked. */
	askedBy: string;
	createdAt: number;
	expiresAt: number;
	/** The source of the server's that was to give it, if one was: it has, if there is no fault. */
	source?: { name: string; fault: string | null };
};

/** Oldest first. */
export type SecretRequestList = { requests: SecretRequestMessage[] };

/** Something that a token with a gate wants to do, and that is held until somebody else decides. */
export type ApprovalMessage = {
	id: string;
	/** The session it is done to; of a `start`, the one that there will be. */
	session: { id: string; name: string | null; workspace: string };
	/** Who wants it. */
	by: { id: string; name: string };
	kind: "start" | "run" | "input" | "signal" | "stop" | "delete";
	/** Why it is held: it matches, its keys do not say what it is, or such acts always are. */
	reason: "match" | "unreadable" | "always";
	/** What it is, fit to be shown anywhere, and cut in the middle where it is long. */
	preview: string;
	/** Of the exact bytes, in hex. */
	sha256: string;
	/** Where the output ended, and the lease's fence, when it was asked for; null where there is no session yet. */
	offset: number | null;
	fence: number | null;
	askedAt: number;
	expiresAt: number;
	state: "asked" | "granted" | "denied" | "expired" | "withdrawn";
	/** Once it is not `asked` any more. */
	endedAt?: number;
	/** The name of who decided, if somebody did. */
	decidedBy?: string;
	/** What they said with it, or why it has expired. */
	note?: string;
};

export type ApprovalList = { approvals: ApprovalMessage[] };

export type DecideApproval = {
	decision: "grant" | "deny";
	/** For who asked. */
	note?: string;
	/** Grants it also if there was more output since. */
	evenIfChanged?: boolean;
};
