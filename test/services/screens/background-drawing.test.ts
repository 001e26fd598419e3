/** Background rendering of full-screen programs without viewers, and its cost. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Session } from "../../../src/core/session/session.ts";
import { FileCheckpoints } from "../../../src/services/screens/checkpoints.ts";
import { startOfNow } from "../../../src/services/screens/starting-point.ts";
import { lines, localScreens, shows, signal, type } from "../../support/local-screens.ts";
import { eventually, outputUntil } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** For each typed line: a title once, then this many numbers in the same place below it. */
const DRAWING = `awk 'BEGIN { printf "\\033[?1049h\\033[Htitle"; while ((getline count) > 0) { for (n = 1; n <= count; n++) printf "\\033[3;1H%d of %d", n, count; fflush() } }'`;

const drawn = (session: Session, count: number) =>
	outputUntil(session, new RegExp(`${count} of ${count}$`), { offset: 0 });

it("the screen of a full-screen program is available quickly, although it had no viewer", async () => {
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

it("a program on the normal screen, and one that draws little, is not rendered", async () => {
	const file = join(await temporaryDirectory(), "screens");
	const { start } = await localScreens({ file, isDrawnUnseen: true });
	const normal = await start("yes | head -c 2000000; printf '\\033]2;end\\007'; read -r x");
	const little = await start(`stty -echo; ${DRAWING}`);
	await type(little, "1000\n");
	await drawn(little, 1_000);
	await eventually("all of it", async () => (await normal.scan()).title === "end");
	expect(await normal.untilRedrawDue(0, AbortSignal.abort())).toBe(false);
	expect(await readFile(file, "utf8").catch(() => "none")).toBe("none");
});

it("a program with a viewer is not rendered a second time", async () => {
	const file = join(await temporaryDirectory(), "screens");
	const { screens, start } = await localScreens({ file, isDrawnUnseen: true });
	const session = await start(`stty -echo; ${DRAWING}`);
	await shows(screens, session, "title");
	expect(await screens.draw(session, { signal, rest: async () => {} })).toBeUndefined();
});
