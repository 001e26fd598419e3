export function staleFiles(read?: (path: string) => string): Promise<[path: string, content: string][]>;
