import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAll, startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ memoryBytes: 8 * 1024 * 1024 });
});
afterAll(() => server.close());

type Cast = { text: string; header: Record<string, unknown>; events: [number, string, string][] };

async function recording(id: string, query: Record<string, string> = {}, from = server): Promise<Cast> {
	const response = await from.request(`/v1/sessions/${id}/recording?${new URLSearchParams(query)}`);
	const text = await response.text();
	if (response.status !== 200) throw new Error(text);
	const [header, ...events] = text
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	return { text, header, events };
}

const shown = ({ events }: Cast) => events.map(([, code, data]) => (code === "o" ? data : "")).join("");

async function act(id: string, path: string, body: object) {
	const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
	expect((await server.request(`/v1/sessions/${id}/${path}`, init)).status).toBe(200);
}

/** A terminal that was resized while its program ran. The program got input and exited with 3. */
async function played() {
	const command =
		"stty -echo; printf 'size? '; read line; stty size; printf 'gr\\303'; read line; printf '\\274n\\n'; exit 3";
	const { id } = await server.create({ command, cols: 90, rows: 30, name: "demo" });
	const said = (text: string) =>
		expect.poll(async () => (await server.request(`/v1/sessions/${id}/output`)).text()).toContain(text);
	await said("size? ");
	await act(id, "resize", { cols: 100, rows: 40 });
	await act(id, "keys", { keys: ["text:secret", "Enter"] });
	await said("40 100");
	await said("gr");
	await act(id, "keys", { keys: ["Enter"] });
	return { id, bytes: (await readAll(server, id)).bytes };
}

describe("a recording", () => {
	it("a recording has shell marks with zeros in place of their key, also if a mark arrives in parts", async () => {
		const [first, rest] = ["0123456789ab", "cdef01234567"];
		const command = `stty -echo; printf '\\033]133;D;0;n=7.${first}${rest};h=${first}${rest}\\033\\\\$ \\033]633;E;ls;${first}'; read line; printf '${rest}\\033\\\\done\\033'`;
		const { id } = await server.create({ command });
		const output = async () => (await server.request(`/v1/sessions/${id}/output`)).text();
		await expect.poll(output).toContain(`ls;${first}`);
		await act(id, "keys", { keys: ["Enter"] });
		await readAll(server, id);
		const key = "0".repeat(24);
		const marked = `\u001b]133;D;0;n=7.${first}${rest};h=${key}\u001b\\$ \u001b]633;E;ls;${key}\u001b\\done\u001b`;
		expect(shown(await recording(id))).toBe(marked);
	});

	it("a recording has the real size, output, resizes and times, and no input", async () => {
		const before = Date.now();
		const { id, bytes } = await played();
		const cast = await recording(id);
		expect(cast.header).toMatchObject({ version: 2, width: 90, height: 30, title: "demo" });
		expect(cast.header.timestamp).toBeGreaterThanOrEqual(Math.floor(before / 1000));
		expect(shown(cast)).toBe(bytes.toString("utf8"));
		// A split character is whole again.
		expect(shown(cast)).toContain("grün");
		expect(cast.text).not.toContain("\ufffd");
		expect(cast.text).not.toContain("secret");
		expect(cast.events.filter(([, code]) => code !== "o")).toEqual([[expect.any(Number), "r", "100x40"]]);
		const resizedAt = cast.events.findIndex(([, code]) => code === "r");
		expect(shown({ ...cast, events: cast.events.slice(0, resizedAt) })).toBe("size? ");
		const times = cast.events.map(([time]) => time);
		expect(times).toEqual(times.toSorted((a, b) => a - b));
		expect(times.at(-1)).toBeLessThanOrEqual((Date.now() - before) / 1000 + 1);
	});

	it("a recording in version 3 has intervals and the exit code", async () => {
		const { id } = await played();
		const { header, events, ...rest } = await recording(id, { format: "asciicast-v3", idleLimitMs: "1500" });
		const second = await recording(id, { format: "asciicast-v2" });
		expect(header).toMatchObject({ version: 3, term: { cols: 90, rows: 30 }, idle_time_limit: 1.5 });
		expect(events.at(-1)).toEqual([expect.any(Number), "x", "3"]);
		expect(shown({ header, events, ...rest })).toBe(shown(second));
		let time = 0;
		const summed = events.slice(0, -1).map(([interval]) => {
			time += interval;
			return time;
		});
		for (const [index, [at]] of second.events.entries()) expect(summed[index]).toBeCloseTo(at, 6);
	});

	it("a recording starts and ends as requested, with the size of that moment", async () => {
		const { id, bytes } = await played();
		const from = bytes.indexOf("40 100");
		const to = bytes.indexOf("\r\n", from);
		const part = await recording(id, { from: String(from), to: String(to) });
		// The size in force there, set before the first requested byte.
		const [screen, resize, ...rest] = part.events;
		expect(part.header).toMatchObject({ width: 90, height: 30 });
		expect(screen).toEqual([0, "o", expect.stringContaining("size? ")]);
		expect(resize).toEqual([0, "r", "100x40"]);
		expect(shown({ ...part, events: rest })).toBe("40 100");
		const later = await recording(id, { from: new Date(Date.now() + 60_000).toISOString() });
		expect(later).toMatchObject({ header: { width: 100 }, events: [] });
		const before = await recording(id, { to: "2020-01-01T00:00:00Z" });
		expect(before).toMatchObject({ header: { width: 90 }, events: [] });
		for (const query of ["from=yesterday", "from=9&to=8", "from=2026-01-31T12:00:01Z&to=2026-01-31T12:00:00Z"]) {
			expect((await server.request(`/v1/sessions/${id}/recording?${query}`)).status).toBe(400);
		}
	});

	it("a recording that starts in a full-screen program starts with its screen", async () => {
		const draw =
			"printf '\\033[?1049h\\033[2J\\033[3;5Hdrawn before'; read line; printf '\\033[5;1Hdrawn after'; read line";
		const { id } = await server.create({ command: `stty -echo; printf 'the prompt'; ${draw}`, cols: 40, rows: 6 });
		const said = async () => (await server.request(`/v1/sessions/${id}/output`)).text();
		await expect.poll(said).toContain("before");
		const place = Buffer.byteLength(await said());
		const moment = new Date().toISOString();
		await act(id, "keys", { keys: ["Enter"] });
		await expect.poll(said).toContain("after");
		for (const from of [String(place), moment]) {
			const cast = await recording(id, { from });
			const argv = ["sh", "-c", 'stty raw; printf %s "$0"', shown(cast)];
			const taken = await server.create({ argv, cols: 40, rows: 6 });
			await readAll(server, taken.id);
			const screenOf = async (one: string) => (await server.request(`/v1/sessions/${one}/screen?format=text`)).text();
			expect(await screenOf(taken.id)).toBe(await screenOf(id));
			expect(await screenOf(taken.id)).toBe("\n\n    drawn before\n\ndrawn after\n");
		}
	});

	it("a recording of a running program ends with its output so far", async () => {
		const { id } = await server.create({ command: "echo ready; cat" });
		await expect.poll(async () => shown(await recording(id))).toBe("ready\r\n");
	});

	it("a recording of a program on pipes has CRLF line ends", async () => {
		const { id } = await server.create({ command: "echo out; echo err >&2", mode: "pipe" });
		await readAll(server, id);
		expect(
			shown(await recording(id))
				.split("\r\n")
				.toSorted(),
		).toEqual(["", "err", "out"]);
	});

	it("a recording marks lost output", async () => {
		const small = await startTestServer({ memoryBytes: 64 * 1024 });
		try {
			const { id } = await small.create({ command: "seq 1 100000", mode: "pipe" });
			await readAll(small, id);
			const { events } = await recording(id, {}, small);
			expect(events[0]).toEqual([0, "m", expect.stringMatching(/^bytes 0 to \d+ are missing \(retention\)$/)]);
			expect(events.at(-1)?.[2]).toMatch(/100000\r\n$/);
		} finally {
			await small.close();
		}
	});

	it("a recording is read no faster than the client reads, and aborted when it disconnects", async () => {
		const { id } = await server.create({ command: "head -c 7000000 /dev/zero | tr '\\0' x", mode: "pipe" });
		const { bytes } = await readAll(server, id);
		expect(bytes.length).toBe(7_000_000);
		const sent = async () =>
			/^hawser_output_bytes_total (\d+)$/m.exec(await (await server.request("/metrics")).text())?.[1];
		const before = Number(await sent());
		const client = connect(Number(new URL(server.url).port), "127.0.0.1");
		client.pause();
		client.write(
			`GET /v1/sessions/${id}/recording HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
		);
		await expect.poll(async () => Number(await sent())).toBeGreaterThan(before);
		// When two samples are equal, the socket buffers are full and nothing more is read.
		let last = -1;
		await expect
			.poll(async () => {
				const now = Number(await sent());
				const isSame = now === last;
				last = now;
				return isSame;
			})
			.toBe(true);
		expect(last - before).toBeLessThan(6_900_000);
		const attachments = async () => JSON.parse(await (await server.request(`/v1/sessions/${id}`)).text()).attachments;
		expect(await attachments()).toBe(1);
		client.destroy();
		await expect.poll(attachments).toBe(0);
	});

	it("asciinema plays a recording byte for byte", async () => {
		const folder = await temporaryDirectory();
		const { id, bytes } = await played();
		await writeFile(join(folder, "x.cast"), (await recording(id)).text);
		// asciinema requires a terminal, wherever its output goes.
		const player = await server.create({
			command: "asciinema cat x.cast > cat && asciinema play -s 1000 x.cast > play",
			cwd: folder,
			env: { LC_ALL: "C.UTF-8", HOME: folder },
		});
		const { bytes: said } = await readAll(server, player.id);
		expect(said.toString()).toBe("");
		expect(await readFile(join(folder, "cat"))).toEqual(bytes);
		expect((await readFile(join(folder, "play"))).toString()).toContain(bytes.toString());
	});
});
