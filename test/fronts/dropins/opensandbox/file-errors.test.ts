import { expect, test } from "vitest";
import { fileError } from "../../../../src/fronts/dropins/opensandbox/files/errors.ts";

test("a file with nothing to read yet, such as the kernel's log, is a client error", () => {
	const thrown = Object.assign(new Error("EAGAIN: try again, read"), { code: "EAGAIN", syscall: "read" });
	expect(fileError(thrown)).toMatchObject({ status: 400, code: "INVALID_FILE", cause: thrown });
});
