/** What the pages say, in one place: tests compare texts with it. */

import { type ExitMessage, type SessionMessage, showUnseen } from "hawser/client";

export const words = {
	skip: "Skip to the content",
	signIn: {
		title: (host: string) => `Sign in to ${host}`,
		how: "Open the link that hawser serve printed, or paste a token.",
		noLink: "No link at hand? On that machine run",
		command: "hawser signin-link",
		unknown: "That token is not known here.",
		ended: "That token was revoked or has expired.",
		away: "The server can't be reached.",
	},
	signedOut: ["You are signed out.", "The token was revoked or has expired. What you left running goes on."],
	onlyWatching: (isGuest: boolean) =>
		`What you type is not sent: ${isGuest ? "this link" : "your token"} is for watching.`,
	guestEnded: ["This link has ended.", "Ask whoever gave it to you for a new one."],
	empty: {
		title: "Nothing runs here yet",
		what: (host: string) =>
			`A session is a program that goes on when you leave. Start one here, or from any terminal on ${host}:`,
		commands: ["hawser run --name work -- bash", "hawser run --detach -- npm test"],
		appears: "It appears here by itself.",
	},
	nobodyNeedsYou: "Nobody needs you.",
	noMatch: (query: string) => `No session matches "${query}".`,
	loading: "Loading sessions…",
	answerHere: "Answer here; the program gets it once, and only if it still asks.",
	keptUntilRemoved: "Kept until you remove them",
	connected: "Connected",
	reconnecting: (seconds: number) => `Reconnecting… ${seconds} s`,
	programGoesOn: "The program goes on. What you type is kept and sent once.",
	noEarlierCommand: "No commands are known before this page was opened.",
	away: (seconds: number) => [
		"The server can't be reached.",
		`Your sessions go on without it. Trying again in ${seconds} s.`,
	],
	updated: "Hawser was updated.",
	placeGone: ["The moment of this link is not here any more.", "This is the oldest that is."],
	kill: {
		title: (name: string) => `Kill ${name}?`,
		/** `started` is how many processes it has besides itself, once that is known. */
		what: (ranFor: string, program: string, started: number | undefined) =>
			`It has run for ${ranFor}. This ends ${program}${startedText(started)}. Its output stays here.`,
	},
	answer: {
		late: "Not sent: it asks something else now.",
		secret: "Only the program sees it. It is not stored, shown or recorded.",
		taken: (answer: string, time: string) => `${answer} sent ${time}, the program took it`,
		secretTaken: (time: string) => `Sent ${time}, the program took it`,
	},
	approval: {
		left: (time: string) => `· ${time} left`,
		unreadable: "· its keys do not say what it is",
		changed: "· there was more output since it was asked for",
		look: "Look",
		grant: "Approve",
		grantEvenSo: "Approve even so",
		deny: "Deny",
		notDone: (why: string) => `Not done: ${why}.`,
	},
	secret: {
		title: (name: string | null) => (name === null ? "A secret is asked for" : `A secret is asked for: ${name}`),
		by: (name: string) => `Asked for by ${name}, who does not get to see it.`,
		why: (reason: string) => `They say: ${reason}`,
		source: (name: string, fault: string) => `The server's source “${name}” has not answered: ${fault}.`,
		given: "The program has it. You can close this page.",
		refused: "Refused. Nothing was typed.",
		over: "This is over: it was answered, or the program asks something else now.",
	},
	startFailed: (reason: string) => `It could not be started: ${reason}`,
	goesOn: "It goes on when you close this page.",
	theServer: "the server",
	notifications: {
		needsHttps: "Notifications need HTTPS, or a server on this machine.",
		denied: "This browser was told to show none of this page; its own settings undo that.",
	},
	clipboard: {
		none: "No program may put text on your clipboard. One that wants to is asked about when it does.",
		some: "Programs in these sessions may put text on your clipboard.",
	},
} as const;

function startedText(started: number | undefined): string {
	if (started === undefined) return " and everything it started";
	if (started === 0) return "";
	return started === 1 ? " and the process it started" : ` and the ${started} processes it started`;
}

/** A length of time in its largest unit: "4 min". */
export function span(ms: number): string {
	const seconds = Math.max(0, Math.floor(ms / 1000));
	if (seconds < 60) return `${seconds} s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
	if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
	return `${Math.floor(seconds / 86_400)} d`;
}

/** The same in its two largest: "4 min 12 s". */
export function exactSpan(ms: number): string {
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

/** The same for people, in two parts: what happened, and more about it. */
export function longEnd(session: Ended): readonly [string, string] {
	const { state, exit, createdAt, endedAt } = session;
	const at = endedAt === null ? "" : `at ${clockTime(endedAt)}`;
	if (state === "lost") {
		const upTo = endedAt === null ? "" : ` Its output up to ${clockTime(endedAt, { seconds: true })} is here.`;
		return ["Lost.", `The machine stopped while it ran; how it ended is not known.${upTo}`];
	}
	const after = endedAt === null ? "" : `after ${exactSpan(endedAt - createdAt)}, ${at}`;
	if (!exit) return ["Ended", after];
	return [endTitle(exit, session), exit.reason === "killed" ? `with everything it had started, ${at}` : after];
}

function endTitle({ reason, by, code, signal }: ExitMessage, { timeoutMs, idleTimeoutMs }: Ended): string {
	if (reason === "killed") return by === undefined ? "Killed" : `Killed by ${by}`;
	if (reason === "oom") return "Out of memory";
	if (reason === "timeout") return `Timed out after ${exactSpan(timeoutMs)}`;
	if (reason === "idle") return `Ended after ${exactSpan(idleTimeoutMs)} without input or output`;
	return signal === null ? `Ended with exit code ${code}` : `Ended by ${signal}`;
}

/** What people call a session: its name, or the program that it runs. */
export function nameOf({ name, argv }: Pick<SessionMessage, "name" | "argv">): string {
	return showUnseen(name ?? (argv[0] ?? "").split("/").at(-1) ?? "");
}
