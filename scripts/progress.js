/** A reporter of vitest that tells whoever started it which files there are, what was last heard of each, and how it ended. */

export default class Progress {
	#vitest;

	onInit(vitest) {
		this.#vitest = vitest;
	}

	onTestRunStart(specifications) {
		process.send({ files: specifications.map(({ moduleId }) => moduleId) });
	}

	onTestModuleQueued({ moduleId }) {
		process.send({ file: moduleId, heard: "it was begun" });
	}

	onTestModuleStart({ moduleId }) {
		process.send({ file: moduleId, heard: "it was loaded" });
	}

	onTestCaseReady({ module, name }) {
		process.send({ file: module.moduleId, heard: `began: ${name}` });
	}

	onTestCaseResult({ module, name }) {
		process.send({ file: module.moduleId, heard: `ended: ${name}` });
	}

	onTestModuleEnd(module) {
		const states = [...module.children.allTests()].map((test) => test.result().state);
		const count = (state) => states.filter((each) => each === state).length;
		const failed = count("failed");
		// One that can't even be loaded, or whose hooks failed, may have no test that did.
		const isBroken = module.state() === "failed" && failed === 0;
		const result = { passed: count("passed"), failed: failed + (isBroken ? 1 : 0) };
		process.send({ file: module.moduleId, result, unhandled: this.#vitest.state.getUnhandledErrors().length });
	}
}
