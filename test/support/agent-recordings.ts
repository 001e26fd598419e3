/** Output that real coding agents wrote in each of their states, and the expected state. */

import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { XtermModel } from "../../src/emulator/xterm-model.ts";
import type { AgentScreen } from "../../src/services/agents/screen-rules/read-screen.ts";
import type { AgentState } from "../../src/words/agent.ts";

const DIRECTORY = new URL("../fixtures/agents/", import.meta.url);

export type AgentRecording = {
	/** Agent, version, size and state. */
	readonly name: string;
	readonly app: string;
	readonly cols: number;
	readonly rows: number;
	readonly state: string;
	readonly expected: ExpectedReading;
	/** All output up to this state. */
	readonly bytes?: Buffer;
	/** Without the output: the text of the screen. */
	readonly lines?: readonly string[];
	readonly cursor?: Cursor;
};

type Cursor = { readonly row: number; readonly col: number };

export type ExpectedReading = {
	readonly app: string;
	/** Allowed states. */
	readonly state: readonly AgentState[];
	readonly kind: string | null;
	readonly question?: string;
	readonly choices?: readonly string[];
};

type Index = Pick<AgentRecording, "cols" | "rows"> & {
	readonly states: readonly (Pick<AgentRecording, "state" | "expected" | "cursor"> & { readonly file: string })[];
};

export function agentRecordings(): AgentRecording[] {
	return readdirSync(DIRECTORY).flatMap((agent) =>
		readdirSync(new URL(`${agent}/`, DIRECTORY)).flatMap((size) => {
			const directory = new URL(`${agent}/${size}/`, DIRECTORY);
			const { cols, rows, states } = JSON.parse(readFileSync(new URL("index.json", directory), "utf8")) as Index;
			return states.map(({ file, ...recording }) => {
				const named = {
					name: `${agent} ${size} ${recording.state}`,
					app: recording.expected.app,
					cols,
					rows,
					...recording,
				};
				if (file.endsWith(".raw"))
					return { ...named, bytes: gunzipSync(readFileSync(new URL(`${file}.gz`, directory))) };
				return { ...named, lines: readFileSync(new URL(file, directory), "utf8").trimEnd().split("\n") };
			});
		}),
	);
}

/** The screen in this state. */
export function rendered({ cols, rows, bytes, lines = [], cursor = { row: 0, col: 0 } }: AgentRecording): AgentScreen {
	if (!bytes) return { cols, lines, cursor: { ...cursor, visible: true } };
	const model = new XtermModel({ cols, rows });
	try {
		model.feed(bytes);
		return { ...model.view(), cells: model.cells() };
	} finally {
		model.dispose();
	}
}
