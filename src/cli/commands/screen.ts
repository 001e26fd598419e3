/** `hawser screen`: what a program's terminal shows. */

import { Command } from "commander";
import type { Session } from "../../client/index.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print } from "../output.ts";
import { PATIENCE_MS, place, wholeNumber } from "../parse.ts";
import { save } from "../save.ts";
import { watchScreen } from "../watch-screen.ts";

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
	.summary("show what a session's terminal shows")
	.description(
		"Shows the text that a session's terminal shows now, or did at an earlier place, without attaching to it.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("--at <place>", "how it was at an offset of the output, or at a time such as 2026-01-31T12:00:00Z", place)
	.option("-c, --color", "with its colours")
	.option("--json", "with the cursor, the title and the size, as the server gives it")
	.option("--svg <file>", "save it as a picture, with its colours")
	.option("--html <file>", "save it as a page, with its colours")
	.option("-w, --watch", "show it again whenever it changes, until the session has ended; with --json a line each")
	.option("--above <rows>", "show so many rows that have scrolled away instead, at most 1000", wholeNumber)
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
	if (other !== undefined) throw new UsageError(`${one} and ${other} exclude each other`);
	if (!watch) return;
	if ((svg ?? html ?? above ?? at) !== undefined) throw new UsageError("--watch shows the screen itself, as it is now");
	if (!json && !process.stdout.isTTY) {
		throw new UsageError(
			"--watch draws on a terminal, which this is not; with --json it writes a line for each change",
		);
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
	const changes = session.screenChanges({ patienceMs: PATIENCE_MS });
	if (!json)
		return watchScreen(changes, ({ lines }) => (color ? session.screenText({ colors: true }) : lines.join("\n")));
	for await (const shown of changes) await print(`${JSON.stringify(shown)}\n`);
}
