import type { GroupsByRole } from '../../../config/types.ts';
import { ROLES, type Role } from '../../../core/text/roles.ts';

/** Stands for everybody whom the provider or the proxy has signed in. */
const EVERYBODY = '*';

/** Returns the largest role that somebody has through their groups; null if none of them gives one. */
export function roleOfGroups(groups: readonly string[], given: GroupsByRole): Role | null {
  const hasGroup = (group: string): boolean => group === EVERYBODY || groups.includes(group);
  return ROLES.findLast((role) => given[role].some(hasGroup)) ?? null;
}
