/** The thread in which the models of all screens are: it does one thing after the other, and may be ended at any time. */

import { parentPort } from "node:worker_threads";
import { drawnByNewest } from "./newest.ts";
import type { Answer, Question } from "./thread.ts";
import { XtermModel } from "./xterm-model.ts";

const models = new Map<number, XtermModel>();

parentPort?.on("message", (question: Question) => {
	const { id } = question;
	if (question.do === "newest") return say({ id, value: (drawnByNewest(question) ?? null) as Answer["value"] });
	if (question.do === "open") open(question);
	const model = models.get(question.model);
	say(model ? { id, value: answer(model, question) } : { id, value: null, isMissing: true });
});

function say(answer: Answer): void {
	parentPort?.postMessage(answer, answer.value instanceof Uint8Array ? [answer.value.buffer] : []);
}

function open({ model: id, size, scrollback, snapshot }: Extract<Question, { do: "open" }>): void {
	models.get(id)?.dispose();
	const model = new XtermModel(size, scrollback);
	models.set(id, model);
	if (snapshot) model.feed(snapshot);
}

function answer(model: XtermModel, question: Exclude<Question, { do: "newest" }>): Answer["value"] {
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
