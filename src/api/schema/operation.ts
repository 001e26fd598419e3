/** One HTTP operation of the native API. The server's route, OpenAPI, the SDK and the Python client are derived from it. */

import type { Right } from "../../words/rights.ts";
import type { Fields, Schema } from "./fields.ts";

export type Operation = {
	/** A few words for OpenAPI, starting with a verb. */
	readonly summary: string;
	/** Method and path: `GET /v1/sessions/:id`. */
	readonly route: `${string} /${string}`;
	readonly right: "public" | "admin" | "metrics" | Right;
	/** The checks of path parameters; those without one may be any text. */
	readonly params?: Fields;
	readonly query?: Fields;
	/** A JSON body. */
	readonly body?: Schema;
	/** The content type of another body. */
	readonly takes?: string;
	/** Request headers. */
	readonly headers?: readonly string[];
	/** A JSON answer. */
	readonly answer?: Schema;
	/** The status of a success: by default 200, or 204 without `answer` and `content`. */
	readonly status?: number;
	/** The content types of other answers. */
	readonly content?: readonly string[];
	/** Answers with another status: JSON, a content type, or null without a body. */
	readonly otherAnswers?: Readonly<Record<number, Schema | string | null>>;
	readonly answerHeaders?: readonly string[];
	/** The data of each kind of event in an event stream. */
	readonly events?: Readonly<Record<string, Schema>>;
	/** Whether the route is a WebSocket upgrade. */
	readonly isSocket?: true;
	/** Whether the rate limit for starts applies. */
	readonly startsProgram?: true;
};

export type OperationTable = Readonly<Record<string, Operation>>;
