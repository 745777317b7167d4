/** The oldest Node version that works: better-sqlite3 needs Node-API 10 and crashes without it. See package.json. */
const OLDEST = { major: 22, minor: 14 };

/**
 * Explains in one line why this Node version, such as `20.20.2`, cannot run the program. Returns null if it can. Any
 * Node version must be able to load this file, so it uses only old syntax and imports nothing.
 */
export function nodeVersionFault(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return null;
  const oldest = `${OLDEST.major}.${OLDEST.minor}`;
  return `usage-ledger needs Node ${oldest} or newer (22, 24 and 26 are supported); this is Node ${version}`;
}
