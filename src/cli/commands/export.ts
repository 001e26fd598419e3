/** `hawser export`: a session as a recording that can be played, shown on a page, or kept. */

import { Command, InvalidArgumentError, Option } from "commander";
import type { RecordingFormat, RecordingOptions } from "../../client/index.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print } from "../output.ts";
import { duration, place } from "../parse.ts";
import { save } from "../save.ts";

type ExportFlags = WorkspaceFlags & {
	readonly output?: string;
	readonly format: RecordingFormat;
	readonly idleLimit?: number;
	readonly from?: number | Date;
	readonly to?: number | Date;
};

export const exportRecording: Command = withWorkspace(new Command("export"))
	.summary("save a session as a recording")
	.description(
		"Saves what a session's program has shown by now, with the times and sizes that there were, as an asciicast for " +
			"asciinema and other players. What was typed is in it only as far as the program showed it.",
	)
	.argument("[session]", "its id, the beginning of it, or its name (default: the most recent)")
	.option("-o, --output <file>", "where to; without it to a pipe, as in hawser export | asciinema cat -")
	.addOption(
		new Option("--format <format>", "the version of the format; asciinema before 3.0 knows v2")
			.choices(["asciicast-v2", "asciicast-v3"])
			.default("asciicast-v2"),
	)
	.option("--idle-limit <duration>", "let players shorten longer pauses to this, such as 2s", limit)
	.option("--from <place>", "begin with this byte of the output, or at a time such as 2026-01-31T12:00:00Z", place)
	.option("--to <place>", "end before this byte, or at a time", place)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser export build -o build.cast && asciinema play build.cast\n" +
			"  hawser export demo -o demo.cast --idle-limit 2s --format asciicast-v3\n" +
			"  hawser export build --from $(hawser grep -b -n 1 FAIL build | cut -d: -f1) -o failure.cast",
	)
	.action(async (wanted: string | undefined, flags: ExportFlags) => {
		const { output, format, idleLimit, from, to } = flags;
		if (output === undefined && process.stdout.isTTY) {
			throw new UsageError("a recording would act on this terminal: name a file, as in -o session.cast");
		}
		const { client } = await findServer(flags);
		const session = client.sessions.at((await findSession(client, wanted, flags)).id);
		const options: RecordingOptions = {
			format,
			...(idleLimit === undefined ? {} : { idleLimitMs: idleLimit }),
			...(from === undefined ? {} : { from }),
			...(to === undefined ? {} : { to }),
		};
		const recording = session.recording(options);
		if (output === undefined) for await (const piece of recording) await print(piece);
		else await save(recording, output);
	});

function limit(text: string): number {
	const ms = duration(text);
	if (ms > 0) return ms;
	throw new InvalidArgumentError("expected a duration longer than 0");
}
