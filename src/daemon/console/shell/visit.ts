import { hasRole, type Role } from '../../../core/text/roles.ts';
import type { Caller } from '../../api/callers.ts';
import type { Draft, Notice, Session } from '../sign-in/sessions.ts';

/** The request of one page: who makes it, and what the frame around the page's content shows. */
export interface Visit {
  caller: Caller;
  /**
   * The session; null for a caller that sends a token with each request. Such a caller can read pages but not send
   * forms.
   */
  session: Session | null;
  nowMs: number;
  /** The IANA time zone in which times are shown. */
  timezone: string;
  /** The time zone that the configuration sets. */
  configuredZone: string;
  /** The path of the page, with its query parameters. */
  path: string;
  openAlerts: number;
  /** The sentence about the form that was sent before; null if there is none. */
  notice: Notice | null;
  /** The refused form that the page shows again; null if there is none. */
  draft: Draft | null;
  version: string;
}

/** Reports whether the visitor has a session and a role that allows this operation. */
export function may({ caller, session }: Pick<Visit, 'caller' | 'session'>, { role }: { role: Role }): boolean {
  return session !== null && hasRole(caller.role, role);
}
