/** Permissions of a caller. Each role includes the roles before it. */
export const ROLES = ['read', 'operate', 'finance'] as const;
export type Role = (typeof ROLES)[number];

/** Reports whether a caller with role `has` may run an operation that needs role `needed`. */
export function hasRole(has: Role, needed: Role): boolean {
  return ROLES.indexOf(has) >= ROLES.indexOf(needed);
}
