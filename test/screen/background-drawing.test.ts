/** Full-screen programs that nobody looks at are drawn, at no more cost than that. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Session } from "../../src/core/session.ts";
import { FileCheckpoints } from "../../src/screen/checkpoints.ts";
import { startOfNow } from "../../src/screen/start.ts";
import { eventually, outputUntil } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { lines, localScreens, shows, signal, type } from "./local-screens.ts";

/** A title that is written once, and so many numbers below it one over the other, for each line that is typed. */
const DRAWING = `awk 'BEGIN { printf "\\033[?1049h\\033[Htitle"; while ((getline count) > 0) { for (n = 1; n <= count; n++) printf "\\033[3;1H%d of %d", n, count; fflush() } }'`;

const drawn = (session: Session, count: number) =>
	outputUntil(session, new RegExp(`${count} of ${count}$`), { offset: 0 });

it("what a full-screen program has drawn is near, though nobody has looked", async () => {
	const file = join(await temporaryDirectory(), "screens");
	const { screens, thread, start } = await localScreens({ file, isDrawnUnseen: true });
	const session = await start(`stty -echo; ${DRAWING}`);
	await type(session, "100000\n");
	await drawn(session, 100_000);
	const end = await session.end();
	expect(end.offset).toBeGreaterThan(1024 * 1024);
	const isNear = async () => {
		const nearest = await new FileCheckpoints(file).nearest(end, end);
		return end.offset - (nearest?.offset ?? 0) < 256 * 1024;
	};
	await eventually("a checkpoint near the end", isNear);
	const { offset } = await startOfNow(session, { thread, checkpoints: new FileCheckpoints(file) }, signal);
	expect(end.offset - offset).toBeLessThan(256 * 1024);
	expect(await lines(screens, session)).toEqual(["title", "100000 of 100000"]);
});

it("a program on the normal screen, and one that draws little, is let alone", async () => {
	const file = join(await temporaryDirectory(), "screens");
	const { start } = await localScreens({ file, isDrawnUnseen: true });
	const normal = await start("yes | head -c 2000000; printf '\\033]2;end\\007'; read -r x");
	const little = await start(`stty -echo; ${DRAWING}`);
	await type(little, "1000\n");
	await drawn(little, 1_000);
	await eventually("all of it", async () => (await normal.scan()).title === "end");
	expect(await normal.untilMuchDrawn(0, AbortSignal.abort())).toBe(false);
	expect(await readFile(file, "utf8").catch(() => "none")).toBe("none");
});

it("a program that somebody looks at is not drawn a second time", async () => {
	const file = join(await temporaryDirectory(), "screens");
	const { screens, start } = await localScreens({ file, isDrawnUnseen: true });
	const session = await start(`stty -echo; ${DRAWING}`);
	await shows(screens, session, "title");
	expect(await screens.draw(session, { signal, rest: async () => {} })).toBeUndefined();
});
