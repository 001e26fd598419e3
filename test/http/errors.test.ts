import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { exitCode } from "../../src/cli/print/errors.ts";
import { httpStatus } from "../../src/http/errors.ts";
import { codes } from "../../src/words/error-code.ts";

it("docs/errors.md agrees with the maps of codes", () => {
	const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
	const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (\d+) \|/gm)].map(([, code, status, exit]) => ({
		code,
		status: Number(status),
		exit: Number(exit),
	}));
	expect(rows).toEqual(codes.map((code) => ({ code, status: httpStatus[code], exit: exitCode[code] })));
});
