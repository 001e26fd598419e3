/** Texts of the pages, shared with the tests. */

import { type ExitMessage, type SessionMessage, showUnseen } from "hawser/client";

export const words = {
	skip: "Skip to the content",
	signIn: {
		title: (host: string) => `Sign in to ${host}`,
		how: "Open the link that hawser serve printed, or paste a token.",
		noLink: "No link? On the server, run",
		command: "hawser signin-link",
		unknown: "Unknown token.",
		ended: "The token expired or was revoked.",
		away: "The server can't be reached.",
	},
	signedOut: ["You are signed out.", "The token expired or was revoked. Your sessions keep running."],
	onlyWatching: (isGuest: boolean) => `Input is not sent: ${isGuest ? "this link" : "your token"} is view only.`,
	guestEnded: ["This link has ended.", "Ask for a new link."],
	empty: {
		title: "No sessions yet",
		what: (host: string) => `A session keeps running after you leave. Start one here, or in a terminal on ${host}:`,
		commands: ["hawser run --name work -- bash", "hawser run --detach -- npm test"],
		appears: "It will appear here.",
	},
	nothingNeedsYou: "Nothing needs your attention.",
	noMatch: (query: string) => `No session matches "${query}".`,
	loading: "Loading sessions…",
	answerHere: "Answer here. The program gets it once, and only if it still asks the same.",
	keptUntilRemoved: "Kept until removed",
	connected: "Connected",
	reconnecting: (seconds: number) => `Reconnecting… ${seconds} s`,
	programGoesOn: "The program keeps running. Your input is queued and sent once.",
	noEarlierCommand: "No earlier commands recorded since this page was opened.",
	away: (seconds: number) => ["The server can't be reached.", `Your sessions keep running. Retrying in ${seconds} s.`],
	updated: "Hawser was updated.",
	placeGone: ["The moment of this link is no longer available.", "This is the oldest one."],
	kill: {
		title: (name: string) => `Kill ${name}?`,
		/** `started` is the number of child processes, if known. */
		what: (ranFor: string, program: string, started: number | undefined) =>
			`Running for ${ranFor}. This kills ${program}${startedText(started)}. The output is kept.`,
	},
	answer: {
		sending: "Sending…",
		late: "Not sent: the question changed.",
		failed: (why: string) => `Not answered: ${why}`,
		secret: "Sent only to the program. Not stored, displayed or recorded.",
		taken: (answer: string, time: string) => `Sent "${answer}" at ${time}`,
		secretTaken: (time: string) => `Sent at ${time}`,
	},
	dialog: {
		unread: "Its choices can't be read. Answer in the terminal.",
		waits: (since: string) => `waits ${since}`,
	},
	prompt: {
		label: (agent: string) => `Prompt for ${agent}`,
		placeholder: (agent: string) => `Prompt ${agent}`,
		whenIdle: "Queue until idle",
		send: "Send",
		sending: "Sending…",
		sent: "Sent.",
		notSent: (why: string) => `Not sent: ${why}`,
		queued: "Queued until idle",
		cancel: "Cancel",
	},
	approval: {
		left: (time: string) => `· ${time} left`,
		unreadable: "· keys whose effect is unknown",
		unreadableCommand: "· a command that is not known in full",
		changed: "· the session wrote output since the request",
		look: "View",
		grant: "Approve",
		grantEvenSo: "Approve anyway",
		deny: "Deny",
		notDone: (reason: string) => `Not done: ${reason}`,
	},
	secret: {
		title: (name: string | null) => (name === null ? "Secret requested" : `Secret requested: ${name}`),
		by: (name: string) => `Requested by ${name}, who will not see it.`,
		why: (reason: string) => `Reason: ${reason}`,
		source: (name: string, fault: string) => `Secret source “${name}” failed: ${fault}`,
		given: "Sent to the program. You can close this page.",
		refused: "Refused. Nothing was sent.",
		over: "No longer pending: it was answered, or the question changed.",
	},
	startFailed: (reason: string) => `Could not start: ${reason}`,
	goesOn: "It keeps running when you close this page.",
	theServer: "server",
	notifications: {
		needsHttps: "Notifications need HTTPS, or a server on this machine.",
		denied: "Notifications for this page are blocked in the browser's settings.",
	},
	clipboard: {
		none: "No program may write to your clipboard. You are asked when one tries.",
		some: "Programs in these sessions may write to your clipboard.",
	},
} as const;

function startedText(started: number | undefined): string {
	if (started === undefined) return " and everything it started";
	if (started === 0) return "";
	return started === 1 ? " and the process it started" : ` and the ${started} processes it started`;
}

/** A duration in its largest unit: "4 min". */
export function formatDuration(ms: number): string {
	const seconds = Math.max(0, Math.floor(ms / 1000));
	if (seconds < 60) return `${seconds} s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
	if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
	return `${Math.floor(seconds / 86_400)} d`;
}

/** A duration in its two largest units: "4 min 12 s". */
export function formatLongDuration(ms: number): string {
	const seconds = Math.max(0, Math.floor(ms / 1000));
	const parts: [number, string][] = [
		[Math.floor(seconds / 86_400), "d"],
		[Math.floor(seconds / 3600) % 24, "h"],
		[Math.floor(seconds / 60) % 60, "min"],
		[seconds % 60, "s"],
	];
	const first = parts.findIndex(([count]) => count > 0);
	if (first < 0) return "0 s";
	const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
	return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** The time of day: "13:31", or with seconds "13:31:07". */
export function clockTime(time: number, { seconds = false }: { readonly seconds?: boolean } = {}): string {
	const date = new Date(time);
	const parts = [date.getHours(), date.getMinutes(), ...(seconds ? [date.getSeconds()] : [])];
	return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** A number of bytes: "2.1 MB". */
export function size(bytes: number): string {
	if (bytes < 1000) return `${bytes} B`;
	const units = ["kB", "MB", "GB", "TB"];
	const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
	const count = bytes / 1000 ** power;
	return `${count < 10 ? count.toFixed(2) : count < 100 ? count.toFixed(1) : Math.round(count)} ${units[power - 1]}`;
}

type Ended = Pick<SessionMessage, "state" | "exit" | "createdAt" | "endedAt" | "timeoutMs" | "idleTimeoutMs">;

/** How a session ended: a headline, and details. */
export function longEnd(session: Ended): readonly [string, string] {
	const { state, exit, createdAt, endedAt } = session;
	const at = endedAt === null ? "" : `at ${clockTime(endedAt)}`;
	if (state === "lost") {
		const upTo = endedAt === null ? "" : ` Output is available up to ${clockTime(endedAt, { seconds: true })}.`;
		return ["Lost.", `The machine stopped while it was running; the exit status is unknown.${upTo}`];
	}
	const after = endedAt === null ? "" : `after ${formatLongDuration(endedAt - createdAt)}, ${at}`;
	if (!exit) return ["Ended", after];
	return [endTitle(exit, session), exit.reason === "killed" ? `with everything it started, ${at}` : after];
}

function endTitle({ reason, by, code, signal }: ExitMessage, { timeoutMs, idleTimeoutMs }: Ended): string {
	if (reason === "killed") return by === undefined ? "Killed" : `Killed by ${by}`;
	if (reason === "oom") return "Out of memory";
	if (reason === "timeout") return `Timed out after ${formatLongDuration(timeoutMs)}`;
	if (reason === "idle") return `Idle timeout after ${formatLongDuration(idleTimeoutMs)}`;
	return signal === null ? `Ended with exit code ${code}` : `Killed by ${signal}`;
}

/** A session's display name: its name, or its program. */
export function nameOf({ name, argv }: Pick<SessionMessage, "name" | "argv">): string {
	return showUnseen(name ?? (argv[0] ?? "").split("/").at(-1) ?? "");
}
