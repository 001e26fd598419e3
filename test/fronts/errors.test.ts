import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { exitCode } from "../../src/cli/errors.ts";
import { codes } from "../../src/core/errors.ts";
import { httpStatus } from "../../src/fronts/errors.ts";

it("docs/errors.md says what the maps say", () => {
	const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
	const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (\d+) \|/gm)].map(([, code, status, exit]) => ({
		code,
		status: Number(status),
		exit: Number(exit),
	}));
	expect(rows).toEqual(codes.map((code) => ({ code, status: httpStatus[code], exit: exitCode[code] })));
});
