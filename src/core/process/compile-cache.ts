import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import module from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Has Node keep what it has compiled, for the next start: in `usage-ledger` of the user's cache folder, where nobody else may
 * put what is run from there. Without such a place each start compiles anew. This file is read by any Node, however old.
 */
export function useCompileCache({ XDG_CACHE_HOME: cache, HOME: home }: NodeJS.ProcessEnv): void {
  const parent = cache || (home && join(home, '.cache'));
  if (!parent || !isAbsolute(parent)) return;
  try {
    const folder = join(parent, 'usage-ledger');
    // Not `recursive`: a home that does not exist is not made.
    for (const each of [parent, folder]) if (!existsSync(each)) mkdirSync(each, 0o700);
    if (isOurs(realpathSync(folder))) module.enableCompileCache(folder);
  } catch {
    // A home that is read-only, or none: nothing is lost but time.
  }
}

/** Whether only this user, or root, decides what lies there; in a sticky folder nobody replaces what belongs to another. */
function isOurs(folder: string): boolean {
  const own = process.geteuid?.();
  const { uid, mode } = statSync(folder);
  const isSafe = (uid === own || uid === 0) && ((mode & OTHERS_WRITE) === 0 || (mode & STICKY) !== 0);
  return isSafe && (folder === dirname(folder) || isOurs(dirname(folder)));
}
