import type { GroupsByRole } from '../../../config/types.ts';
import { ROLES, type Role } from '../../../core/text/roles.ts';

/** In the list of groups, this stands for everybody whom the provider or the proxy has signed in. */
const EVERYBODY = '*';

/** Returns the highest role that a person's groups give; null if none of the groups gives a role. */
export function roleOfGroups(groups: readonly string[], given: GroupsByRole): Role | null {
  const hasGroup = (group: string): boolean => group === EVERYBODY || groups.includes(group);
  return ROLES.findLast((role) => given[role].some(hasGroup)) ?? null;
}
