/** `hawser export`: exports a session as a recording. */

import { Command, InvalidArgumentError, Option } from "commander";
import type { RecordingFormat, RecordingOptions } from "../../client/index.ts";
import { duration, offsetOrTime } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print } from "../print/output.ts";
import { save } from "../print/save-file.ts";

type ExportFlags = WorkspaceFlags & {
	readonly output?: string;
	readonly format: RecordingFormat;
	readonly idleLimit?: number;
	readonly from?: number | Date;
	readonly to?: number | Date;
};

export const exportRecording: Command = withWorkspace(new Command("export"))
	.summary("export a session as a recording")
	.description(
		"Writes the output so far as an asciicast, with its timing and terminal sizes, for asciinema and other " +
			"players. Input is included only where the program echoed it.",
	)
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("-o, --output <file>", "output file (default: stdout, unless it is a terminal)")
	.addOption(
		new Option("--format <format>", "asciicast version; asciinema before 3.0 reads only v2")
			.choices(["asciicast-v2", "asciicast-v3"])
			.default("asciicast-v2"),
	)
	.option("--idle-limit <duration>", "tell players to shorten longer pauses to this, such as 2s", limit)
	.option("--from <place>", "start at this byte offset or time, such as 2026-01-31T12:00:00Z", offsetOrTime)
	.option("--to <place>", "end before this byte offset or time", offsetOrTime)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser export build -o build.cast && asciinema play build.cast\n" +
			"  hawser export demo -o demo.cast --idle-limit 2s --format asciicast-v3\n" +
			"  hawser export build --from $(hawser grep -b -n 1 FAIL build | cut -d: -f1) -o failure.cast",
	)
	.action(async (wanted: string | undefined, flags: ExportFlags) => {
		const { output, format, idleLimit, from, to } = flags;
		if (output === undefined && process.stdout.isTTY) {
			throw new UsageError("refusing to write a recording to the terminal; use -o FILE");
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
	throw new InvalidArgumentError("expected a positive duration");
}
