/** `hawser screen`: prints a session's screen. */

import { Command } from "commander";
import type { Session } from "../../client/index.ts";
import { offsetOrTime, RECONNECT_TIMEOUT_MS, wholeNumber } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print } from "../print/output.ts";
import { save } from "../print/save-file.ts";
import { watchScreen } from "../terminal/live-screen.ts";

type ScreenFlags = WorkspaceFlags & {
	readonly at?: number | Date;
	readonly color?: true;
	readonly json?: true;
	readonly svg?: string;
	readonly html?: string;
	readonly watch?: true;
	readonly above?: number;
};

export const screen: Command = withWorkspace(new Command("screen"))
	.summary("print a session's screen")
	.description("Prints the text on a session's terminal, now or at an earlier offset or time, without attaching.")
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("--at <place>", "the screen at this byte offset or time, such as 2026-01-31T12:00:00Z", offsetOrTime)
	.option("-c, --color", "include colors")
	.option("--json", "print as JSON, with cursor, title and size")
	.option("--svg <file>", "save as an SVG image")
	.option("--html <file>", "save as an HTML page")
	.option("-w, --watch", "redraw on every change until the session ends; with --json, one line per change")
	.option("--above <rows>", "print <rows> of scrollback instead, up to 1000", wholeNumber)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser screen\n  hawser screen --color work\n  hawser screen --at 2026-01-31T12:00:00Z work\n" +
			"  hawser screen --svg work.svg work\n  hawser screen --watch work",
	)
	.action(async (wanted: string | undefined, flags: ScreenFlags) => {
		check(flags);
		const { client } = await findServer(flags);
		const session = client.sessions.at((await findSession(client, wanted, flags)).id);
		if (flags.watch) await watch(session, flags);
		else await show(session, flags);
	});

function check({ json, color, svg, html, watch, above, at }: ScreenFlags): void {
	const forms = [json && "--json", color && "--color", svg !== undefined && "--svg", html !== undefined && "--html"];
	const [one, other] = [...forms, above !== undefined && "--above"].filter((form) => typeof form === "string");
	if (other !== undefined) throw new UsageError(`${one} and ${other} cannot be used together`);
	if (!watch) return;
	if ((svg ?? html ?? above ?? at) !== undefined)
		throw new UsageError("--watch cannot be used with --at, --above, --svg or --html");
	if (!json && !process.stdout.isTTY) {
		throw new UsageError("--watch needs a terminal, or --json");
	}
}

async function show(session: Session, flags: ScreenFlags): Promise<void> {
	const { json, svg, html, above } = flags;
	const at = flags.at === undefined ? {} : { at: flags.at };
	if (svg !== undefined) await save([await session.screenPicture("svg", at)], svg);
	else if (html !== undefined) await save([await session.screenPicture("html", at)], html);
	else if (json) await print(`${JSON.stringify(await session.screen(at))}\n`);
	else if (above === 0) return;
	else if (above !== undefined) {
		const { lines } = await session.scrollback({ ...at, limit: above });
		await print(lines.map((line) => `${line}\n`).join(""));
	} else await print(await session.screenText({ ...at, colors: flags.color === true }));
}

async function watch(session: Session, { json, color }: ScreenFlags): Promise<void> {
	const changes = session.screenChanges({ reconnectTimeoutMs: RECONNECT_TIMEOUT_MS });
	if (!json)
		return watchScreen(changes, ({ lines }) => (color ? session.screenText({ colors: true }) : lines.join("\n")));
	for await (const shown of changes) await print(`${JSON.stringify(shown)}\n`);
}
