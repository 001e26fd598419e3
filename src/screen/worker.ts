/** The thread in which the models of all screens are: it does one thing after the other, and may be ended at any time. */

import { parentPort } from "node:worker_threads";
import type { Answer, Question } from "./thread.ts";
import { XtermModel } from "./xterm-model.ts";

const models = new Map<number, XtermModel>();

parentPort?.on("message", (question: Question) => {
	const { id } = question;
	if (question.do === "open") open(question);
	const model = models.get(question.model);
	const value = model ? answer(model, question) : null;
	const answered: Answer = { id, value, ...(model ? {} : { isMissing: true }) };
	parentPort?.postMessage(answered, value instanceof Uint8Array ? [value.buffer] : []);
});

function open({ model: id, size, scrollback, snapshot }: Extract<Question, { do: "open" }>): void {
	models.get(id)?.dispose();
	const model = new XtermModel(size, scrollback);
	models.set(id, model);
	if (snapshot) model.feed(snapshot);
}

function answer(model: XtermModel, question: Question): Answer["value"] {
	switch (question.do) {
		case "open":
			return null;
		case "feed":
			model.feed(question.bytes);
			return null;
		case "resize":
			model.resize(question.size);
			return null;
		case "view":
			return model.view();
		case "cells":
			return model.cells();
		case "scrollback":
			return model.scrollback();
		case "snapshot":
			return model.snapshot({ scrollback: question.scrollback }) as Uint8Array<ArrayBuffer>;
		case "close":
			models.delete(question.model);
			model.dispose();
			return null;
	}
}
