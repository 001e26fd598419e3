/** Time to the first correct screen of a session without viewers, after much output. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connect, offsetsOf } from "../../src/client/index.ts";
import { XtermModel } from "../../src/emulator/xterm-model.ts";
import type { Case, Sample } from "../case.ts";
import { type Served, serving } from "../served.ts";
import { percentile } from "../statistics.ts";
import type { Workshop } from "../workshop.ts";

const SIZE = { cols: 80, rows: 24 };
/** Less than a journal keeps. */
const WRITTEN_MEGABYTES = 60;
/** Sessions, each read once over a WebSocket or over HTTP. */
const SESSIONS = { full: 10, quick: 4 };
/** Time within which the output of a program without viewers is rendered, in milliseconds. */
const SETTLED_MS = 5_000;
/** A screen that is wrong after this time stays wrong. */
const TIMEOUT_MS = 60_000;
const MOST_MS = 30;

/** A file that a program writes, and the final screen. */
type Written = { readonly path: string; readonly bytes: number; readonly lines: readonly string[] };

const KINDS = { lines: linesOfText, pictures: wholePictures, parts: partsOfPictures } as const;

export function firstScreenCase(isQuick: boolean): Case {
	const sessions = isQuick ? SESSIONS.quick : SESSIONS.full;
	const kinds = Object.entries(KINDS);
	return {
		name: "first-screen",
		title: `The first screen of a program after ${WRITTEN_MEGABYTES} MB without viewers`,
		note: `${sessions} sessions in keepers of each kind, half of them attached to from the screen on, half asked for it over HTTP, until the right lines are there: lines that scroll; pictures of a full-screen program, one over the other, at once after the last of them; and parts of a picture, of which some are never drawn again, ${SETTLED_MS / 1000} s after the last`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "attach", title: "attach p50 ms", digits: 1 },
			{ key: "attachMax", title: "max", digits: 1 },
			{ key: "get", title: "GET p50 ms", digits: 1 },
			{ key: "getMax", title: "max", digits: 1 },
		],
		bars: kinds.flatMap(([kind]) =>
			(["attach", "get"] as const).map((how) => ({
				title: `${kind}, ${how} p50 ms`,
				value: (round) => round(kind, how),
				digits: 1,
				atMost: MOST_MS,
			})),
		),
		variants: kinds.map(([name, write]) => ({
			name,
			measure: (workshop) =>
				measure(workshop, write(workshop), { sessions, settleMs: name === "parts" ? SETTLED_MS : 0 }),
		})),
	};
}

function measure(
	workshop: Workshop,
	written: Written,
	{ sessions, settleMs }: { readonly sessions: number; readonly settleMs: number },
): Promise<Sample> {
	return serving(workshop, async (server) => {
		const { port, token } = server.target;
		const client = connect({ url: `http://127.0.0.1:${port}`, token });
		const attaching: number[] = [];
		const getting: number[] = [];
		// The rendering thread and the client start with the first request.
		await attachedMs(client, await sessionWith(server, written), written);
		for (let index = 0; index < sessions; index++) {
			const id = await sessionWith(server, written);
			await sleep(settleMs);
			if (index % 2 === 0) attaching.push(await attachedMs(client, id, written));
			else getting.push(await gottenMs(server, id, written));
		}
		return {
			attach: percentile(attaching, 0.5),
			attachMax: Math.max(...attaching),
			get: percentile(getting, 0.5),
			getMax: Math.max(...getting),
		};
	});
}

/** A session whose program has written everything and waits. */
async function sessionWith(server: Served, { path, bytes }: Written): Promise<string> {
	const argv = ["/bin/sh", "-c", 'cat "$0"; exec sleep 1000', path];
	const { id } = await server.create("keeper", { argv, ...SIZE });
	while (offsetsOf(await server.look(id)).end < bytes) await sleep(20);
	return id;
}

async function attachedMs(client: Client, id: string, { lines }: Written): Promise<number> {
	const session = await client.sessions.get(id);
	const model = new XtermModel(SIZE);
	const begin = performance.now();
	const attachment = session.attach({ role: "viewer", from: "screen", signal: AbortSignal.timeout(TIMEOUT_MS) });
	try {
		for await (const event of attachment) {
			if (event.kind !== "screen" && event.kind !== "output") continue;
			model.feed(event.bytes);
			if (isShown(lines, model.view().lines)) return performance.now() - begin;
		}
		throw new Error("the session ended before its screen was right");
	} finally {
		await attachment.detach();
		model.dispose();
	}
}

async function gottenMs(server: Served, id: string, { lines }: Written): Promise<number> {
	const begin = performance.now();
	const screen = await server.screen(id, {});
	const ms = performance.now() - begin;
	if (!isShown(lines, screen.lines ?? [])) throw new Error(`the screen is wrong: ${screen.lines?.join("\n")}`);
	return ms;
}

function isShown(lines: readonly string[], shown: readonly string[]): boolean {
	return lines.every((line, row) => line === (shown[row] ?? ""));
}

/** The cursor is below the last line. */
function linesOfText(workshop: Workshop): Written {
	const { path, ttyBytes: bytes } = workshop.payload("screen", WRITTEN_MEGABYTES);
	const lines = readFileSync(path, "latin1")
		.slice(-SIZE.rows * SIZE.cols)
		.split("\n")
		.slice(-SIZE.rows);
	return { path, bytes, lines };
}

/** Redraws every row of the alternate screen each time. */
function wholePictures(workshop: Workshop): Written {
	return pictures(workshop, "whole", 1);
}

/** The first row is written once and stays visible. */
function partsOfPictures(workshop: Workshop): Written {
	return pictures(workshop, "parts", 2);
}

/** Rows from this one on are redrawn each time. */
function pictures(workshop: Workshop, name: string, firstRow: number): Written {
	const rowOf = (row: number, picture: number) => `${row} of ${picture} `.padEnd(SIZE.cols, ".");
	const drawn = (picture: number) =>
		Array.from({ length: SIZE.rows + 1 - firstRow }, (_, index) => {
			const row = firstRow + index;
			return `\x1b[${row};1H\x1b[3${row % 8}m${rowOf(row, picture)}\x1b[m`;
		}).join("");
	const count = Math.ceil((WRITTEN_MEGABYTES * 1e6) / drawn(0).length);
	const all = Array.from({ length: count }, (_, picture) => drawn(picture)).join("");
	const text = `\x1b[?1049h\x1b[H${rowOf(1, 0)}${all}`;
	const path = join(workshop.directory, `${name}-pictures.txt`);
	writeFileSync(path, text);
	const lines = Array.from({ length: SIZE.rows }, (_, row) => rowOf(row + 1, row + 1 < firstRow ? 0 : count - 1));
	return { path, bytes: text.length, lines };
}
