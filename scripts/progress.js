/** A vitest reporter that sends the list of files, their progress and their results to the parent process. */

export default class Progress {
	#vitest;

	onInit(vitest) {
		this.#vitest = vitest;
	}

	onTestRunStart(specifications) {
		process.send({ files: specifications.map(({ moduleId }) => moduleId) });
	}

	onTestModuleQueued({ moduleId }) {
		process.send({ file: moduleId, step: "started" });
	}

	onTestModuleStart({ moduleId }) {
		process.send({ file: moduleId, step: "loaded" });
	}

	onTestCaseReady({ module, name }) {
		process.send({ file: module.moduleId, step: `began: ${name}` });
	}

	onTestCaseResult({ module, name }) {
		process.send({ file: module.moduleId, step: `ended: ${name}` });
	}

	onTestModuleEnd(module) {
		const states = [...module.children.allTests()].map((test) => test.result().state);
		const count = (state) => states.filter((each) => each === state).length;
		const failed = count("failed");
		// A file that can't be loaded, or whose hooks failed, may have no failed test.
		const isBroken = module.state() === "failed" && failed === 0;
		const result = { passed: count("passed"), failed: failed + (isBroken ? 1 : 0) };
		process.send({ file: module.moduleId, result, unhandled: this.#vitest.state.getUnhandledErrors().length });
	}
}
