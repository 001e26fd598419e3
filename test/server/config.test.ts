import { describe, expect, it } from "vitest";
import { ConfigError, loadConfig } from "../../src/server/config.ts";

describe("loadConfig", () => {
	it("flags take precedence over variables, these over defaults", () => {
		const env = {
			XDG_STATE_HOME: "/state",
			HAWSER_PORT: "8000",
			HAWSER_SPARES: "3",
			HAWSER_ALLOWED_HOSTS: "a.example, b.example,",
		};
		expect(loadConfig({ port: "9000" }, env)).toMatchObject({
			host: "127.0.0.1",
			port: 9000,
			stateDir: "/state/hawser",
			spares: 3,
			allowedHosts: ["a.example", "b.example"],
			auth: true,
		});
		expect(loadConfig({}, { HAWSER_STATE_DIR: "/x", HAWSER_PORT: "" })).toMatchObject({ stateDir: "/x", port: 7707 });
	});

	it.each([
		[{ port: "-1" }, {}, "--port"],
		[{ port: "1.5" }, {}, "--port"],
		[{}, { HAWSER_PORT: "many" }, "HAWSER_PORT"],
		[{ stateDir: "" }, {}, "--state-dir"],
		[{}, { HAWSER_AUTH: "maybe" }, "HAWSER_AUTH"],
		[{ maxMemory: "1 lot" }, {}, "--max-memory"],
		[{ host: "192.168.1.1" }, {}, "--host"],
		[{ host: "127.0.0.1.example" }, {}, "--host"],
	])("refuses %j %j", (flags, env, setting) => {
		expect(() => loadConfig(flags, env)).toThrow(ConfigError);
		expect(() => loadConfig(flags, env)).toThrow(setting);
	});
});
