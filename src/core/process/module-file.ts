import { extname } from 'node:path';

/**
 * Returns the URL of a module in the caller's folder, to start it as a thread or process. It has the same extension as
 * the caller: `.ts` in a checkout, `.js` in the bundle.
 */
export function siblingModule(callerUrl: string, name: string): URL {
  return new URL(`./${name}${extname(callerUrl)}`, callerUrl);
}
