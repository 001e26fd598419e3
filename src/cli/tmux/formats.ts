/** tmux formats that scripts use: `#{session_name}` and the common one-letter forms. */

import { hostname } from "node:os";
import type { ProgramState, ScreenMessage, Session, SessionMessage } from "../../client/index.ts";
import { nameOf } from "./targets.ts";

/** The session that a format describes. Loads details once, and only if the format needs them. */
export class FormatTarget {
	readonly info: SessionMessage;
	readonly #session: Session;
	#program: Promise<ProgramState> | undefined;
	#screen: Promise<ScreenMessage> | undefined;

	constructor(info: SessionMessage, session: Session) {
		this.info = info;
		this.#session = session;
	}

	program(): Promise<ProgramState> {
		this.#program ??= this.#session.inspect();
		return this.#program;
	}

	screen(): Promise<ScreenMessage> {
		this.#screen ??= this.#session.screen();
		return this.#screen;
	}
}

const SHORT: ReadonlyMap<string, string> = new Map([
	["D", "pane_id"],
	["F", "window_flags"],
	["H", "host"],
	["h", "host_short"],
	["I", "window_index"],
	["P", "pane_index"],
	["S", "session_name"],
	["T", "pane_title"],
	["W", "window_name"],
]);

type Value = (subject: FormatTarget) => string | number | Promise<string | number>;

/** A session has one window with one pane. */
const VALUES: ReadonlyMap<string, Value> = new Map<string, Value>(
	Object.entries({
		session_name: ({ info }) => nameOf(info),
		session_id: ({ info }) => `${info.id}`,
		session_created: ({ info }) => Math.floor(info.createdAt / 1000),
		session_activity: ({ info }) => Math.floor((info.activeAt ?? info.createdAt) / 1000),
		session_attached: ({ info }) => info.attachments,
		session_windows: () => 1,
		session_path: ({ info }) => info.cwd,
		window_id: ({ info }) => `@${info.id}`,
		window_index: () => 0,
		window_name: programName,
		window_flags: () => "*",
		window_active: () => 1,
		window_panes: () => 1,
		window_width: ({ info }) => info.size.cols,
		window_height: ({ info }) => info.size.rows,
		pane_id: ({ info }) => `%${info.id}`,
		pane_index: () => 0,
		pane_active: () => 1,
		pane_dead: ({ info }) => (info.state === "running" ? 0 : 1),
		pane_in_mode: () => 0,
		pane_pid: ({ info }) => info.pid ?? "",
		pane_width: ({ info }) => info.size.cols,
		pane_height: ({ info }) => info.size.rows,
		pane_start_command: ({ info }) => info.argv.join(" "),
		pane_current_command: programName,
		pane_current_path: async (subject) => (await subject.program()).cwd ?? subject.info.cwd,
		pane_title: async (subject) => (await subject.screen()).title || hostname(),
		cursor_x: async (subject) => (await subject.screen()).cursor.col,
		cursor_y: async (subject) => (await subject.screen()).cursor.row,
		alternate_on: async (subject) => ((await subject.screen()).alternate ? 1 : 0),
		host: () => hostname(),
		host_short: () => hostname().split(".", 1)[0] ?? "",
	} satisfies Record<string, Value>),
);

async function programName(subject: FormatTarget): Promise<string> {
	return (await subject.program()).program ?? subject.info.argv[0]?.split("/").at(-1) ?? "";
}

/** A time in tmux's format: `Mon Nov 16 05:12:00 2026`. */
function timeText(seconds: string | number): string {
	const [day, month, date, year, time] = new Date(Number(seconds) * 1000).toString().split(" ");
	return [day, month, date, time, year].join(" ");
}

/** An unknown variable is empty, as in tmux. `t:` formats its seconds as a date. */
export async function expand(format: string, subject: FormatTarget): Promise<string> {
	let text = "";
	let from = 0;
	for (const found of format.matchAll(/#(?:\{([^{}]*)\}|([A-Za-z#]))/g)) {
		const [all, long, letter = ""] = found;
		text += format.slice(from, found.index);
		from = found.index + all.length;
		const name = long ?? SHORT.get(letter) ?? "";
		const value = await (VALUES.get(name.replace(/^t:/, ""))?.(subject) ?? "");
		text += letter === "#" ? "#" : name.startsWith("t:") ? timeText(value) : value;
	}
	return text + format.slice(from);
}
