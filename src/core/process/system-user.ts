import { userInfo } from 'node:os';

/** Whom the system takes the process's owner for; its number where the system has no name for it, as in many containers. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
