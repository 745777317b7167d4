import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import module from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';

const GROUP_OR_WORLD_WRITABLE = 0o022;
const STICKY = 0o1000;

/**
 * Makes Node keep its compiled code for the next start, in `usage-ledger` below the user's cache folder. The folder is
 * used only if no other user can place code there; otherwise each start compiles again. This file must run on any Node
 * version.
 */
export function useCompileCache({ XDG_CACHE_HOME: cache, HOME: home }: NodeJS.ProcessEnv): void {
  const parent = cache || (home && join(home, '.cache'));
  if (!parent || !isAbsolute(parent)) return;
  try {
    const folder = join(parent, 'usage-ledger');
    // Not `recursive`: a missing home directory must not be created.
    for (const each of [parent, folder]) if (!existsSync(each)) mkdirSync(each, 0o700);
    if (isPrivateFolder(realpathSync(folder))) module.enableCompileCache(folder);
  } catch {
    // Without a writable home directory, starts are only slower.
  }
}

/**
 * Reports whether only this user or root can change the folder. In a sticky folder, users cannot replace each other's
 * files.
 */
function isPrivateFolder(folder: string): boolean {
  const own = process.geteuid?.();
  const { uid, mode } = statSync(folder);
  const isSafe = (uid === own || uid === 0) && ((mode & GROUP_OR_WORLD_WRITABLE) === 0 || (mode & STICKY) !== 0);
  return isSafe && (folder === dirname(folder) || isPrivateFolder(dirname(folder)));
}
