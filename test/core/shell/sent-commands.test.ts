/** Which commands are remembered for repeats. */

import { expect, test } from "vitest";
import { SentCommands } from "../../../src/core/shell/sent-commands.ts";

const KIB = 1024;
const origin = (position: number) => ({ stream: "s", position });

test.each([
	{ length: 10, count: 600, remembered: 500 },
	{ length: 160 * KIB, count: 50, remembered: 12 },
	{ length: 4 * KIB * KIB, count: 3, remembered: 1 },
])(
	"of $count commands of $length characters the newest $remembered are remembered",
	({ length, count, remembered }) => {
		const sent = new SentCommands(() => ({ next: count, written: count, room: 0 }));
		const command = "x".repeat(length);
		for (let position = 0; position < count; position++) sent.add({ command, origin: origin(position) });
		expect(sent.has(origin(count - remembered))).toBe(true);
		expect(sent.repeated(command, { origin: origin(count - 1) })).toMatchObject({ origin: origin(count - 1) });
		expect(sent.has(origin(count - remembered - 1))).toBe(false);
		expect(() => sent.repeated(command, { origin: origin(count - remembered - 1) })).toThrow(
			"was used for something other than this command",
		);
	},
);
