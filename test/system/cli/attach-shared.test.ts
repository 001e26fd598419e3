import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SessionMessage } from "../../../src/client/index.ts";
import { ECHO, LEFT, Terminal } from "../../support/cli-terminal.ts";
import { TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

/** The holder of control. Its fence grows with every change. */
async function leaseOf(id: string): Promise<SessionMessage["lease"]> {
	return (await (await hawser.client()).sessions.at(id).info()).lease;
}

describe("several terminals on one session", () => {
	it("two terminals on one session show the same output, and both may type", async () => {
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

	it("a terminal that takes control makes the previous holder view-only", async () => {
		const id = await hawser.detached(ECHO);
		const first = await Terminal.start(hawser, ["attach", id]);
		await first.attached();
		await first.type("one\r");
		await first.shows("[one]");
		const second = await Terminal.start(hawser, ["attach", id, "--take"]);
		await second.attached();
		await first.shows("took control");
		await first.type("refused\r");
		await first.shows("you are now a viewer");
		await second.type("two\r");
		await first.shows("[two]");
		expect(first.screen).not.toContain("[refused]");
		const third = await Terminal.start(hawser, ["attach", id]);
		await third.attached();
		await third.shows("press ~T to take control");
		await third.type("~.");
		expect(await third.ended()).toEqual(LEFT);
		await second.type("~.");
		expect(await second.ended()).toEqual(LEFT);
		// The remaining terminal knows that it may type once it has control itself.
		await expect.poll(() => leaseOf(id)).toMatchObject({ holder: expect.any(String), exclusive: false });
		await first.type("again\r");
		await first.shows("[again]");
		await first.type("~.");
		expect(await first.ended()).toEqual(LEFT);
	});

	it("a shared session has the size of the last writer, and a terminal of another size shows that", async () => {
		const id = await hawser.detached("stty -echo; echo ready; while read -r line; do stty size; done");
		const first = await Terminal.start(hawser, ["attach", id]);
		await first.attached();
		const second = await Terminal.start(hawser, ["attach", id], { cols: 60, rows: 20 });
		await second.attached();
		await first.shows("session resized to 60x20; this terminal is 80x24");
		await second.type("\r");
		await second.shows("20 60");
		await first.type("\r");
		await second.shows("session resized to 80x24; this terminal is 60x20");
		await first.type("\r");
		await first.shows("24 80");
		await first.type("~.");
		await first.ended();
		await second.type("\r");
		await second.shows("20 60", 2);
		await second.type("~.");
		expect(await second.ended()).toEqual(LEFT);
	});

	it("a session with a fixed size keeps it when clients attach", async () => {
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

	it("a query is answered by one terminal, and by another when that one has left", async () => {
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
	it("attach exits with 254 when the session was lost or the server stayed away too long", async () => {
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

		const left = await Terminal.start(hawser, ["attach", await hawser.detached(ECHO), "--reconnect-timeout", "300ms"]);
		await left.attached();
		await hawser.stopServer("SIGTERM");
		expect(await left.ended()).toEqual({ code: 254, isRestored: true });
		expect(left.output).toContain("server unreachable");
		await hawser.startServer();
	});

	it("attach keeps a full-screen program's picture while the server is away", async () => {
		const id = await hawser.detached("printf '\\033[?1049hpicture'; read -r x");
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("picture");
		await hawser.stopServer("SIGTERM");
		await terminal.shows("\u001b]2;hawser: server unreachable; reconnecting\u0007");
		await hawser.startServer();
		await terminal.shows("\u001b]2;hawser: reconnected\u0007");
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
		expect(terminal.output).toMatch(/picture[\s\S]*(\u001b\]2;[^\u0007]*\u0007)+\u001b\[23;0t\u001b\[\?1049l/);
	});
});
