import { summarizeError } from '../../core/errors.ts';

export interface DoctorFinding {
  check: string;
  /**
   * The thing that was checked, such as a workspace's id, if the check is made for several things; null if it is made
   * once.
   */
  subject: string | null;
  /** `fail`: something does not work or will soon stop working. `warn`: it works, but needs attention. */
  status: 'ok' | 'warn' | 'fail';
  message: string;
  remedy: string | null;
}

export function ok(check: string, message: string, subject: string | null = null): DoctorFinding {
  return { check, subject, status: 'ok', message, remedy: null };
}

export function warn(check: string, message: string, remedy: string, subject: string | null = null): DoctorFinding {
  return { check, subject, status: 'warn', message, remedy };
}

export function fail(check: string, message: string, remedy: string, subject: string | null = null): DoctorFinding {
  return { check, subject, status: 'fail', message, remedy };
}

/** Converts an error into a failed finding. `remedy` is used if the error has no hint of its own. */
export function failedWith(
  check: string,
  error: unknown,
  remedy: string,
  subject: string | null = null,
): DoctorFinding {
  const { message, hint } = summarizeError(error);
  return fail(check, message, hint ?? remedy, subject);
}
