import { extname } from 'node:path';

/**
 * Returns the URL of a module next to the caller, to start as a thread or process. It has the caller's extension: `.ts`
 * in a checkout, `.js` in the bundle.
 */
export function siblingModule(callerUrl: string, name: string): URL {
  return new URL(`./${name}${extname(callerUrl)}`, callerUrl);
}
