import { userInfo } from 'node:os';

/**
 * Returns the name of the user that runs this process, or its uid if the system has no name for it, as in many
 * containers.
 */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
