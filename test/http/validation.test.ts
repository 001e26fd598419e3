import fc from "fast-check";
import Type, { type TSchema } from "typebox";
import { Errors } from "typebox/value";
import { describe, expect, it } from "vitest";
import { validatorOf } from "../../src/api/schema/validator.ts";
import { problemOf } from "../../src/http/validation.ts";

const closed = { additionalProperties: false } as const;
const size = Type.Integer({ minimum: 1, maximum: 100 });
const schema = Type.Object(
	{
		argv: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 3 }),
		mode: Type.Optional(Type.Union([Type.Literal("pty"), Type.Literal("pipe")])),
		since: Type.Optional(Type.Union([Type.Integer(), Type.String(), Type.Null()])),
		size: Type.Optional(Type.Object({ cols: size, rows: size }, closed)),
		env: Type.Optional(Type.Record(Type.String({ pattern: "^[^=]+$" }), Type.String(), closed)),
		labels: Type.Optional(
			Type.Record(Type.String({ pattern: "^[a-z]+$" }), Type.String(), { ...closed, maxProperties: 2 }),
		),
	},
	closed,
);

const messageOf = (value: unknown, of: TSchema = schema) => problemOf(of, value).message;

describe("validation", () => {
	it.each<[unknown, string]>([
		[{}, "argv: required"],
		[{ argv: ["a", ""] }, "argv.1: must not be empty"],
		[{ argv: ["a", 1, 2] }, "argv.1: must be a string, not 1"],
		[{ argv: [] }, "argv: must not have fewer than 1 items, not a list"],
		[{ argv: ["a"], mode: "tty" }, 'mode: must be "pty" or "pipe", not "tty"'],
		[{ argv: ["a"], since: true }, "since: must be a whole number or a string or null, not true"],
		[{ argv: ["a"], size: { cols: 1 } }, "rows: required"],
		[{ argv: ["a"], size: { cols: 0, rows: 1 } }, "size.cols: must be at least 1, not 0"],
		[{ argv: ["a"], size: { cols: 1, rows: 1, depth: 1 } }, "size.depth: not allowed here"],
		[{ argv: ["a"], env: { A: 1 } }, "env.A: must be a string, not what was sent"],
		[{ argv: ["a"], env: { "A=": "" } }, "env.A=: its name must match ^[^=]+$"],
		[{ argv: ["a"], labels: { a: "", b: "", c: "" } }, "labels: must not have more than 2 properties, not an object"],
		[[], "the body: must be an object, not a list"],
	])("%j gets an error that names the field and all that it may be", (value, message) => {
		expect(validatorOf(schema)().Check(value)).toBe(false);
		expect(messageOf(value)).toBe(message);
	});

	it("the error is that of the first field that TypeBox finds", () => {
		const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom("", "pty", "a", "A=b"));
		const items = fc.oneof(leaf, fc.array(leaf, { maxLength: 5 }));
		const names = fc.constantFrom("argv", "mode", "since", "size", "env", "labels", "cols", "rows", "a", "A=");
		const value = fc.dictionary(names, fc.oneof(items, fc.dictionary(names, items, { maxKeys: 4 })), { maxKeys: 6 });
		fc.assert(
			fc.property(value, (sent) => {
				if (validatorOf(schema)().Check(sent)) return;
				const [first] = Errors(schema, sent);
				const place = first?.instancePath.split("/").slice(1).join(".") || "the body";
				const { message, code } = problemOf(schema, sent);
				expect(code).toBe("invalid_argument");
				if (first?.keyword === "required") expect(message).toMatch(/: required$/);
				else expect(message.startsWith(`${place}: `)).toBe(true);
			}),
			{ numRuns: 1000 },
		);
	});

	it("validation stops at the first invalid field, however many follow", () => {
		let looks = 0;
		const counted = (target: object) =>
			new Proxy(target, {
				getOwnPropertyDescriptor: (on, key) => {
					looks++;
					return Reflect.getOwnPropertyDescriptor(on, key);
				},
				get: (on, key, receiver) => {
					looks++;
					return Reflect.get(on, key, receiver) as unknown;
				},
			});
		const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, 1]));
		expect(messageOf(counted({ argv: ["a"], ...unknown }))).toBe("key0: not allowed here");
		expect(messageOf({ argv: counted(["a", ...Array.from({ length: 10_000 }, () => 1)]) })).toBe(
			"argv.1: must be a string, not 1",
		);
		expect(looks).toBeLessThan(500);
	});

	it("a value that fits none of several schemas is refused without checking all of it", () => {
		const either = Type.Union([Type.Object({ a: Type.String() }, closed), Type.Object({ b: Type.String() }, closed)]);
		const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, 1]));
		expect(messageOf(many, either)).toMatch(/^(a|key0): /);
		expect(messageOf({ b: "", ...many }, either)).toMatch(/: /);
	});
});
