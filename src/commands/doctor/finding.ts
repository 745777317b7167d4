import { summarizeError } from '../../core/errors.ts';

export interface Finding {
  check: string;
  /** Which one of several, such as a workspace's id. */
  subject: string | null;
  /** `fail`: it does not work, or will not. `warn`: it works, and somebody should look. */
  status: 'ok' | 'warn' | 'fail';
  message: string;
  remedy: string | null;
}

export function ok(check: string, message: string, subject: string | null = null): Finding {
  return { check, subject, status: 'ok', message, remedy: null };
}

export function warn(check: string, message: string, remedy: string, subject: string | null = null): Finding {
  return { check, subject, status: 'warn', message, remedy };
}

export function fail(check: string, message: string, remedy: string, subject: string | null = null): Finding {
  return { check, subject, status: 'fail', message, remedy };
}

/** What a check has failed with; `remedy` is of an error without a hint. */
export function broken(check: string, error: unknown, remedy: string, subject: string | null = null): Finding {
  const { message, hint } = summarizeError(error);
  return fail(check, message, hint ?? remedy, subject);
}
