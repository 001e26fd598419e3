/** What a session has written: its output, searched, recorded and imported. */

/** What `event: output` of the event stream carries. */
export type OutputEvent = { offset: number; stream: "stdout" | "stderr" | "pty" /** Base64. */; data: string };

/** What to look for in a session's output, and from which byte on. */
export type SearchQuery = {
	q: string;
	/** Whether `q` is a regular expression, as JavaScript has them. */
	regex?: "0" | "1";
	ignoreCase?: "0" | "1";
	limit?: number;
	/** `next` of the answer before. */
	after?: number;
};

/** A line in which something was found; if it is there several times, the first. */
export type SearchMatch = {
	/** Of the first byte of what was found, and of the first after it. */
	offset: number;
	end: number;
	/** When it was written, in milliseconds since the epoch. */
	time: number;
	/** The offset of the line's first byte. */
	line: number;
	/** The line; of a long one, 1024 UTF-16 units around the match. */
	text: string;
	/** Where in `text` the match begins and ends, in UTF-16 units. */
	at: [number, number];
};

export type SearchResult = {
	matches: SearchMatch[];
	/** The bytes that were searched; what lies before `from` and was asked for is gone. */
	searched: { from: number; to: number };
	/** What to give as `after` to go on; null when all that there is was searched. */
	next: number | null;
};

export type RecordingFormat = "asciicast-v2" | "asciicast-v3";

/** Which part of a session is wanted as a recording: from one offset or ISO 8601 time to another. */
export type RecordingQuery = {
	format?: RecordingFormat;
	/** What players shorten pauses to. */
	idleLimitMs?: number;
	from?: string;
	to?: string;
};

/** Of which time the activity is wanted, in milliseconds since the epoch, and in how many parts. */
export type ActivityQuery = { from?: number; to?: number; buckets?: number };

/** How much a session wrote in each part of a time, oldest first. */
export type ActivityMessage = {
	from: number;
	to: number;
	bytes: number[];
	/** Up to when it was gone through, if that was not all; null if it was. */
	until: number | null;
};

/** How a recording is to be taken in as a session that has ended: its name, if not the title that it has. */
export type ImportQuery = { name?: string; workspace?: string };
