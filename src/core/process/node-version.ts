/** The oldest Node that runs this: the SQLite library inside needs its Node-API 10 and crashes without. See package.json. */
const OLDEST = { major: 22, minor: 14 };

/**
 * Why this Node, such as `20.20.2`, cannot run the program, in one line; null when it can. This file is read by any Node,
 * however old: it uses nothing that one might not know, and imports nothing.
 */
export function nodeVersionFault(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return null;
  const oldest = `${OLDEST.major}.${OLDEST.minor}`;
  return `usage-ledger needs Node ${oldest} or newer (22, 24 and 26 are supported); this is Node ${version}`;
}
