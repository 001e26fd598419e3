import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SessionMessage } from "../../src/client/index.ts";
import { Installation } from "./hawser.ts";
import { ECHO, LEFT, Terminal } from "./terminal.ts";

let hawser: Installation;
beforeAll(async () => {
	hawser = await Installation.create();
});
afterAll(() => hawser.remove());

/** Who has control; its fence grows whenever that changes. */
async function leaseOf(id: string): Promise<SessionMessage["lease"]> {
	return (await (await hawser.client()).sessions.at(id).info()).lease;
}

describe("several terminals on one session", () => {
	it("shows two people the same, and both may type", async () => {
		const id = await hawser.detached(ECHO);
		const first = await Terminal.start(hawser, ["attach", id]);
		await first.attached();
		const second = await Terminal.start(hawser, ["attach", id]);
		await second.attached();
		await first.type("one\r");
		await second.shows("[one]");
		await second.type("two\r");
		await first.shows("[two]");
		await first.type("~.");
		expect(await first.ended()).toEqual(LEFT);
		await second.type("three\r");
		await second.shows("[three]");
		await second.type("~.");
		expect(await second.ended()).toEqual(LEFT);
	});

	it("takes control, and whoever had it watches", async () => {
		const id = await hawser.detached(ECHO);
		const first = await Terminal.start(hawser, ["attach", id]);
		await first.attached();
		await first.type("one\r");
		await first.shows("[one]");
		const second = await Terminal.start(hawser, ["attach", id, "--take"]);
		await second.attached();
		await first.shows("has taken control");
		await first.type("refused\r");
		await first.shows("you are watching");
		await second.type("two\r");
		await first.shows("[two]");
		expect(first.screen).not.toContain("[refused]");
		const third = await Terminal.start(hawser, ["attach", id]);
		await third.attached();
		await third.shows("~T takes control");
		await third.type("~.");
		expect(await third.ended()).toEqual(LEFT);
		await second.type("~.");
		expect(await second.ended()).toEqual(LEFT);
		// The one that is left has heard that it may type once it has control itself.
		await expect.poll(() => leaseOf(id)).toMatchObject({ holder: expect.any(String), exclusive: false });
		await first.type("again\r");
		await first.shows("[again]");
		await first.type("~.");
		expect(await first.ended()).toEqual(LEFT);
	});

	it("has the size of the terminal that was used last, and says so where it is another", async () => {
		const id = await hawser.detached("stty -echo; echo ready; while read -r line; do stty size; done");
		const first = await Terminal.start(hawser, ["attach", id]);
		await first.attached();
		const second = await Terminal.start(hawser, ["attach", id], { cols: 60, rows: 20 });
		await second.attached();
		await first.shows("the session has 60x20 now, this terminal 80x24");
		await second.type("\r");
		await second.shows("20 60");
		await first.type("\r");
		await second.shows("the session has 80x24 now, this terminal 60x20");
		await first.type("\r");
		await first.shows("24 80");
		await first.type("~.");
		await first.ended();
		await second.type("\r");
		await second.shows("20 60", 2);
		await second.type("~.");
		expect(await second.ended()).toEqual(LEFT);
	});

	it("keeps a fixed size, whoever attaches", async () => {
		const id = await hawser.detached("stty -echo; echo ready; while read -r line; do stty size; done", {
			cols: 70,
			rows: 22,
		});
		const first = await Terminal.start(hawser, ["attach", id, "--size-policy", "fixed"]);
		await first.attached();
		await first.type("\r");
		await first.shows("22 70");
		await first.type("~.");
		expect(await first.ended()).toEqual(LEFT);
	});

	it("lets one terminal answer a question, and another when that has left", async () => {
		const id = await hawser.detached('stty -echo; while read -r x; do printf "<$x \\033[6n>"; done');
		const first = await Terminal.start(hawser, ["attach", id]);
		await first.attached();
		await first.type("one\r");
		await first.shows("<one \u001b[6n>");
		const second = await Terminal.start(hawser, ["attach", id]);
		await second.attached();
		await second.shows("<one >");
		await second.type("two\r");
		await second.shows("<two \u001b[6n>");
		await first.shows("<two >");
		const { fence } = await leaseOf(id);
		await second.type("~.");
		expect(await second.ended()).toEqual(LEFT);
		await expect.poll(async () => (await leaseOf(id)).fence).toBeGreaterThan(fence);
		await first.type("three\r");
		await first.shows("<three \u001b[6n>");
		await first.type("~.");
		expect(await first.ended()).toEqual(LEFT);
	});
});

describe("attach without a server", () => {
	it("says 254 when the session was lost, or the server stayed away for too long", async () => {
		const id = await hawser.detached("echo ready; read -r x");
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("ready");
		const { pid } = JSON.parse((await hawser.run(["ls", "--json"])).stdout).find(
			(each: { id: string }) => each.id === id,
		);
		const keeper = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
		process.kill(keeper, "SIGKILL");
		expect(await terminal.ended()).toEqual({ code: 254, isRestored: true });

		const left = await Terminal.start(hawser, ["attach", await hawser.detached(ECHO), "--patience", "300ms"]);
		await left.attached();
		await hawser.stopServer("SIGTERM");
		expect(await left.ended()).toEqual({ code: 254, isRestored: true });
		expect(left.output).toContain("the server is away");
		await hawser.startServer();
	});

	it("does not spoil a full-screen program's picture when the server is away", async () => {
		const id = await hawser.detached("printf '\\033[?1049hpicture'; read -r x");
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("picture");
		await hawser.stopServer("SIGTERM");
		await terminal.shows("\u001b]2;hawser: the server is away; waiting for it\u0007");
		await hawser.startServer();
		await terminal.shows("\u001b]2;hawser: the server is back\u0007");
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
		expect(terminal.output).toMatch(/picture[\s\S]*(\u001b\]2;[^\u0007]*\u0007)+\u001b\[23;0t\u001b\[\?1049l/);
	});
});
