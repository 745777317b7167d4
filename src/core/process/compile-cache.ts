import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import module from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';

const GROUP_OR_WORLD_WRITABLE = 0o022;
const STICKY = 0o1000;

/**
 * Makes Node cache its compiled code for the next start, in the folder `usage-ledger` of the user's cache folder. The
 * cache is used only if no other user can place code in that folder; otherwise each start compiles the code again. This
 * file must run on any Node version.
 */
export function useCompileCache({ XDG_CACHE_HOME: cache, HOME: home }: NodeJS.ProcessEnv): void {
  const parent = cache || (home && join(home, '.cache'));
  if (!parent || !isAbsolute(parent)) return;
  try {
    const folder = join(parent, 'usage-ledger');
    // The option `recursive` is not used, because it would also create a missing home directory.
    for (const each of [parent, folder]) if (!existsSync(each)) mkdirSync(each, 0o700);
    if (isPrivateFolder(realpathSync(folder))) module.enableCompileCache(folder);
  } catch {
    // Without a writable home directory, starts are only slower.
  }
}

/**
 * Reports whether only this user or root can replace files in this folder or the folders above it. A folder with the
 * sticky bit qualifies: users cannot replace each other's files in it.
 */
function isPrivateFolder(folder: string): boolean {
  const own = process.geteuid?.();
  const { uid, mode } = statSync(folder);
  const isSafe = (uid === own || uid === 0) && ((mode & GROUP_OR_WORLD_WRITABLE) === 0 || (mode & STICKY) !== 0);
  return isSafe && (folder === dirname(folder) || isPrivateFolder(dirname(folder)));
}
