import { describe, expect, it } from "vitest";
import { Disconnected, ExecClient } from "./support/exec-client.ts";
import { type Exec, sh, startExec } from "./support/exec-harness.ts";
import { breakingLink, openLink } from "./support/exec-link.ts";
import type { ProcessLog } from "./support/process-log.ts";

const SCRIPT = sh("while read line; do echo got:$line; echo err:$line >&2; [ $line = 5 ] && exit 7; done");
const EXPECTED = {
	stdout: "got:1\ngot:2\ngot:3\ngot:4\ngot:5\n",
	stderr: "err:1\nerr:2\nerr:3\nerr:4\nerr:5\n",
};

type Cut = { readonly direction: "up" | "down"; readonly after: number };

/** One conversation by the real client's rules: lost messages are requested again, a lost start is undone. */
class Conversation {
	readonly #exec: Exec;
	readonly #client: ExecClient;
	cuts = 0;

	constructor(exec: Exec) {
		this.#exec = exec;
		this.#client = exec.watch(new ExecClient());
	}

	async run(cut: Cut | undefined): Promise<ProcessLog> {
		await this.#connect(cut);
		const { id, log } = await this.#start();
		for (let line = 1; line <= 5; line++) {
			await this.#persist(() => this.#client.write(id, `${line}\n`, String(line)));
			await this.#told(log, () => log.text("stdout").includes(`got:${line}\n`));
		}
		await this.#told(log, () => log.isClosed);
		expect(await this.#persist(() => this.#client.terminate(id))).toBe(false);
		this.#client.cut();
		await this.#client.disconnected();
		return log;
	}

	async #connect(cut: Cut | undefined): Promise<void> {
		const link = await openLink(this.#exec.url);
		this.#client.use(cut ? breakingLink(link, cut.direction, cut.after) : link);
		await this.#client.handshake().catch((error: unknown) => this.#expectLoss(error));
	}

	async #start(): Promise<{ id: string; log: ProcessLog }> {
		for (let attempt = 1; ; attempt++) {
			const id = `p${attempt}`;
			try {
				return { id, log: await this.#client.start(id, SCRIPT, { pipeStdin: true }) };
			} catch (error) {
				this.#expectLoss(error);
				this.#client.processes.delete(id);
				await this.#recover();
				await this.#client.terminate(id);
			}
		}
	}

	/** Waits for an event that a lost connection may withhold. */
	async #told(log: ProcessLog, isTold: () => boolean): Promise<void> {
		while (!isTold()) {
			await Promise.race([log.until(isTold), this.#client.disconnected()]);
			if (!this.#client.isOpen) await this.#recover();
		}
	}

	async #persist<T>(ask: () => Promise<T>): Promise<T> {
		for (;;) {
			try {
				return await ask();
			} catch (error) {
				this.#expectLoss(error);
				await this.#recover();
			}
		}
	}

	#expectLoss(error: unknown): void {
		if (!(error instanceof Disconnected)) throw error;
	}

	async #recover(): Promise<void> {
		this.cuts++;
		await this.#client.disconnected();
		await this.#client.recover(() => openLink(this.#exec.url));
	}
}

describe("invariants 3 to 7 and 17", () => {
	it.each(["up", "down"] as const)("the invariants hold wherever a conversation is cut, %s", async (direction) => {
		const exec = await startExec();
		// Until the cut would come after the last message.
		for (let after = 1, isCut = true; isCut; after++) {
			const conversation = new Conversation(exec);
			const log = await conversation.run({ direction, after });
			expect([log.text("stdout"), log.text("stderr"), log.exitCode]).toEqual([EXPECTED.stdout, EXPECTED.stderr, 7]);
			expect(log.events.map(({ seq }) => seq)).toEqual(log.events.map((_, i) => i + 1));
			isCut = conversation.cuts > 0;
			if (!isCut) expect(after).toBeGreaterThan(direction === "up" ? 8 : 16);
		}
	});

	it("the invariants hold for many clients that are cut repeatedly", async () => {
		const exec = await startExec();
		const conversations = Array.from({ length: 20 }, async (_, i) => {
			const cut: Cut = { direction: i % 2 ? "up" : "down", after: 3 + ((i * 7) % 15) };
			const log = await new Conversation(exec).run(cut);
			expect([log.text("stdout"), log.text("stderr"), log.exitCode]).toEqual([EXPECTED.stdout, EXPECTED.stderr, 7]);
		});
		await Promise.all(conversations);
	});
});

describe("100 concurrent processes", () => {
	it("invariants 1, 2 and 14: each process has all of its own events in order", async () => {
		const exec = await startExec();
		const client = await exec.client();
		const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
		const logs = await Promise.all(
			names.map((name) => client.start(name, sh(`echo ${name}; head -c 20000 /dev/zero | tr '\\0' x; exit 3`))),
		);
		for (const [i, log] of logs.entries()) {
			await log.closed();
			expect(log.text()).toBe(`p${i}\n${"x".repeat(20_000)}`);
			expect(log.exitCode).toBe(3);
		}
	});

	it("invariant 1: a process that floods does not starve the others", async () => {
		const exec = await startExec({ concurrency: 4 });
		const client = await exec.client();
		const flood = await client.start("flood", ["yes"]);
		flood.isCounting = true;
		await flood.until(({ bytes }) => bytes > 4_000_000);
		for (let i = 0; i < 10; i++) {
			const log = await client.start(`quiet${i}`, ["echo", "hi"]);
			expect((await log.closed()).text()).toBe("hi\n");
		}
		const before = flood.bytes;
		await flood.until(({ bytes }) => bytes > before + 1_000_000);
		expect(await client.terminate("flood")).toBe(true);
		await flood.closed();
	});
});

describe("garbage", () => {
	it("garbage of any kind breaks nothing", async () => {
		const exec = await startExec();
		const witness = await exec.client();
		const log = await witness.start("p", ["cat"], { pipeStdin: true });
		const random = createRandom(20260822);
		const valid = [
			'{"id":1,"method":"initialize","params":{"clientName":"x"}}',
			'{"method":"initialized"}',
			'{"id":2,"method":"process/read","params":{"processId":"p","waitMs":0}}',
			'{"id":3,"method":"process/write","params":{"processId":"p","chunk":"eA==","writeId":"1"}}',
			'{"id":4,"method":"fs/readBlock","params":{"handleId":"p","offset":0,"len":4}}',
		];
		for (let round = 0; round < 60; round++) {
			const link = await openLink(exec.url);
			const closed = new Promise<void>((resolve) => {
				link.onClosed = resolve;
			});
			for (let i = 0; i < 20; i++) link.send(mutated(valid[i % valid.length] ?? "", random));
			// Some garbage closes the connection. The rest is answered, and a final message ends it.
			link.send('{"method":"good-bye"}');
			await closed;
		}
		await witness.write("p", "still here\n", "1");
		await log.output("still here\n");
	});
});

function createRandom(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

function mutated(text: string, random: (below: number) => number): string {
	const letters = '{}[],:"\\0-9eE.\u0000\uFFFFnulltrue ';
	let result = text;
	for (let i = random(4); i >= 0; i--) {
		const at = random(result.length);
		const insert = letters.charAt(random(letters.length)).repeat(1 + random(3));
		result = result.slice(0, at) + insert + result.slice(at + random(5));
	}
	return result;
}
