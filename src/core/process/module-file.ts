import { extname } from 'node:path';

/**
 * Returns the file of a module beside the calling one, to be started as a thread or a process. The extension is that of
 * the caller: `.ts` in a checkout, `.js` in the bundle.
 */
export function siblingModule(callerUrl: string, name: string): URL {
  return new URL(`./${name}${extname(callerUrl)}`, callerUrl);
}
