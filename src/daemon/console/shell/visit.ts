import { hasRole, type Role } from '../../../core/text/roles.ts';
import type { Caller } from '../../api/callers.ts';
import type { Draft, Notice, Session } from '../sign-in/sessions.ts';

/** One request of a page: who asks, and what the page around the content shows. */
export interface Visit {
  caller: Caller;
  /** Null for a caller that sends a token with each request: such a caller reads pages and sends no forms. */
  session: Session | null;
  nowMs: number;
  /** The IANA time zone in which times are shown. */
  timezone: string;
  /** The time zone of the configuration. */
  configuredZone: string;
  /** The path of the page, with its filters. */
  path: string;
  openAlerts: number;
  /** The sentence about the form that was sent before; null if there is none. */
  notice: Notice | null;
  /** The form that was refused before; null if there is none. */
  draft: Draft | null;
  version: string;
}

/** Reports whether the visitor may run an operation with this role from a form. */
export function may({ caller, session }: Pick<Visit, 'caller' | 'session'>, { role }: { role: Role }): boolean {
  return session !== null && hasRole(caller.role, role);
}
