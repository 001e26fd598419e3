/** The web UI in a real browser: time until a terminal is rendered, and key latency next to sixteen tiles. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { browsing } from "../browser.ts";
import type { Case, Sample } from "../case.ts";
import { type Served, serving } from "../served.ts";
import { percentile } from "../statistics.ts";
import type { Workshop } from "../workshop.ts";

const OPENINGS = { full: 10, quick: 3 };
const OPEN_MS = 1_000;
const TILES = 16;
const FLOODS = 4;
const KEYS = { full: 200, quick: 60 };
const ECHO_MS = 50;
/** Pause between two keys of a fast typist, in milliseconds. */
const PAUSE_MS = { least: 40, most: 120 };
/** Size and interval of one flood's writes: 1 MB/s. */
const PIECE_BYTES = 50_000;
const PIECE_MS = 50;

/** Measurements that a page collects until all keys are typed. */
type Watched = { readonly times: number[]; readonly tasks: number[] };
declare const window: { watched: Watched };

export function webOpenCase(isQuick: boolean): Case {
	const openings = isQuick ? OPENINGS.quick : OPENINGS.full;
	const bar = (variant: string) => ({
		title: `${variant}, p50 ms`,
		value: (round: (variant: string, metric: string) => number) => round(variant, "p50"),
		digits: 0,
		atMost: OPEN_MS,
	});
	return {
		name: "web-open",
		title: "A terminal in the browser, from its address to its text",
		note: `${openings} times in Chromium, from the beginning of the navigation until what the program wrote is in the page, drawn by the DOM: with nothing in the browser's cache, and with the page's files in it`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 ms", digits: 0 },
			{ key: "max", title: "max ms", digits: 0 },
		],
		bars: [bar("first visit"), bar("later")],
		variants: [
			{ name: "first visit", measure: (workshop) => opened(workshop, openings, { isCached: false }) },
			{ name: "later", measure: (workshop) => opened(workshop, openings, { isCached: true }) },
		],
	};
}

export function webGridCase(isQuick: boolean): Case {
	const keys = isQuick ? KEYS.quick : KEYS.full;
	return {
		name: "web-grid",
		title: `A key in one of ${TILES} tiles of the browser`,
		note: `${keys} keys, from the browser's own time of each until the frame with its echo is painted, in a tile that is typed in, beside ${TILES - 1} others: all quiet, ${FLOODS} that write 1 MB/s each, or ${FLOODS} that write as fast as they can. All in keepers, in Chromium without a GPU, which shares the processors with the server and the programs`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 ms", digits: 1 },
			{ key: "p95", title: "p95 ms", digits: 1 },
			{ key: "max", title: "max ms", digits: 1 },
			{ key: "task", title: "longest task over 50 ms", digits: 0 },
		],
		bars: ["quiet", "1 MB/s each"].map((variant) => ({
			title: `${variant}, p95 ms`,
			value: (round) => round(variant, "p95"),
			digits: 1,
			atMost: ECHO_MS,
		})),
		variants: [
			{ name: "quiet", measure: (workshop) => typed(workshop, keys, "exec cat") },
			{ name: "1 MB/s each", measure: (workshop) => typed(workshop, keys, steadyFlood(workshop)) },
			{ name: "all they can", measure: (workshop) => typed(workshop, keys, `exec yes ${"flood ".repeat(12)}`) },
		],
	};
}

function opened(workshop: Workshop, openings: number, { isCached }: { readonly isCached: boolean }): Promise<Sample> {
	return serving(workshop, async (server) => {
		const { id } = await server.create("keeper", { command: "echo drawn; exec cat" });
		const times: number[] = [];
		const visit = async (page: Page, url: string) => {
			await page.goto(`${url}/s/${id}`, { waitUntil: "commit" });
			return page.evaluate(untilDrawn, "drawn");
		};
		if (isCached) {
			await browsing(workshop, server, async ({ page, url }) => {
				await visit(page, url);
				for (let index = 0; index < openings; index++) times.push(await visit(page, url));
			});
		} else {
			for (let index = 0; index < openings; index++) {
				await browsing(workshop, server, async ({ page, url }) => void times.push(await visit(page, url)));
			}
		}
		return { p50: percentile(times, 0.5), max: Math.max(...times) };
	});
}

/** In the page: resolves with the page's age in the first frame after a terminal shows a text. */
function untilDrawn(text: string): Promise<number> {
	const { document, requestAnimationFrame } = globalThis as unknown as {
		document: { querySelector(selector: string): { readonly textContent: string } | null };
		requestAnimationFrame(callback: () => void): void;
	};
	return new Promise((resolve) => {
		const look = () => {
			if (document.querySelector(".xterm-rows")?.textContent.includes(text)) resolve(performance.now());
			else requestAnimationFrame(look);
		};
		look();
	});
}

function steadyFlood(workshop: Workshop): string {
	const { path } = workshop.payload("flood", 1);
	return `while :; do head -c ${PIECE_BYTES} '${path}'; sleep ${PIECE_MS / 1000}; done`;
}

function typed(workshop: Workshop, keys: number, flood: string): Promise<Sample> {
	return serving(workshop, async (server) => {
		await makeTiles(server, flood);
		return browsing(workshop, server, async ({ page, url }) => {
			await page.goto(`${url}/grid`);
			// They are rendered only then.
			await page
				.locator("canvas.pic")
				.nth(TILES - 1)
				.waitFor();
			await page.locator(".tile", { hasText: "typed-in" }).focus();
			await page.keyboard.press("Enter");
			await page.locator(".tile.live .xterm-rows").waitFor();
			await page.evaluate(watchKeys);
			for (let key = 0; key < keys; key++) {
				await page.keyboard.press("abcdefghijklmnopqrstuvwxyz".charAt(key % 26));
				await sleep(PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least));
			}
			await page.waitForFunction((count) => window.watched.times.length >= count, keys);
			const { times, tasks } = await page.evaluate(() => window.watched);
			return {
				p50: percentile(times, 0.5),
				p95: percentile(times, 0.95),
				max: Math.max(...times),
				task: Math.max(0, ...tasks),
			};
		});
	});
}

async function makeTiles(server: Served, flood: string): Promise<void> {
	for (let index = 0; index < TILES - 1; index++) {
		const command = index < FLOODS ? flood : `echo tile ${index}; exec cat`;
		await server.create("keeper", { command, name: `tile-${index}` });
	}
	// The newest comes first.
	await server.create("keeper", { command: "stty raw -echo; exec cat", name: "typed-in" });
}

/**
 * In the page: the time from each key to the paint of the frame in which the cursor's row changes. It requests no frames
 * itself, because a page that renders every frame is slower.
 */
function watchKeys(): void {
	type Row = { readonly textContent: string };
	type Observer = { observe(what: object, how?: object): void };
	const page = globalThis as unknown as {
		document: { querySelector(selector: string): Row };
		requestAnimationFrame(callback: (now: number) => void): number;
		addEventListener(kind: "keydown", listener: (event: { timeStamp: number }) => void, isFirst: true): void;
		MutationObserver: new (heard: () => void) => Observer;
		PerformanceObserver: new (heard: (list: { getEntries(): readonly { duration: number }[] }) => void) => Observer;
		MessageChannel: new () => {
			readonly port1: { onmessage: (() => void) | null };
			readonly port2: { postMessage(message: unknown): void };
		};
	};
	const rows = page.document.querySelector(".tile.live .xterm-rows");
	const watched: Watched = { times: [], tasks: [] };
	window.watched = watched;
	/** Keys that are not visible yet, oldest first. */
	const pending: number[] = [];
	let shown = rows.textContent;
	let isInFrame = false;
	const nextFrame = page.requestAnimationFrame.bind(page);
	page.requestAnimationFrame = (callback) =>
		nextFrame((now) => {
			isInFrame = true;
			callback(now);
			// Runs after other observers of the callback's changes.
			queueMicrotask(() => {
				isInFrame = false;
			});
		});
	page.addEventListener("keydown", ({ timeStamp }) => void pending.push(timeStamp), true);
	new page.MutationObserver(() => {
		const text = rows.textContent;
		const count = text.replace(/\s/g, "").length - shown.replace(/\s/g, "").length;
		shown = text;
		const seen = pending.splice(0, Math.max(0, count));
		if (seen.length === 0) return;
		// A message posted in a frame's callback arrives after that frame's layout and paint.
		const whenPainted = () => {
			const { port1, port2 } = new page.MessageChannel();
			port1.onmessage = () => {
				const now = performance.now();
				for (const timeStamp of seen) watched.times.push(now - timeStamp);
			};
			port2.postMessage(undefined);
		};
		if (isInFrame) whenPainted();
		else nextFrame(whenPainted);
	}).observe(rows, { childList: true, subtree: true, characterData: true });
	new page.PerformanceObserver((list) => {
		for (const { duration } of list.getEntries()) watched.tasks.push(duration);
	}).observe({ type: "longtask" });
}
