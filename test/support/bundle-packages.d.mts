export const BUNDLED: string[];
export function bundleFile(name: string): string;
export function bundlePackages(): Promise<void>;
