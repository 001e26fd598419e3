/** The types of `platform.js`, for `src/native/addon.ts`. */

export declare const platform: string;
export declare function buildFolder(name?: string): string;
