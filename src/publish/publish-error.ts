import { AppError } from '../core/errors.ts';

/** A fault of the copy in Postgres. `retryable`: it may pass by itself. */
export class PublishError extends AppError {}

/** Another attempt may find these gone. Of SQLSTATE: connection, conflicts, resources, shutdown, system; of Node: sockets. */
const PASSING = /^(08|40|53|57|58|E(?!RR_)[A-Z_]+$)/;

/** What Postgres, or the way to it, says, as an error of ours. */
export function publishErrorOf(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  // A server that ends itself comes back, whatever it says last.
  const panics = 'severity' in error && error.severity === 'PANIC';
  const isWay = code === '' && /connection|timeout|terminated/i.test(error.message) && !/SSL/.test(error.message);
  if (PASSING.test(code) || panics || isWay) {
    return new PublishError('publish_unreachable', `Postgres cannot be used now: ${error.message}`, {
      hint: 'check publish.url, that Postgres runs, takes connections from here and has room on its disk; what is not published yet follows by itself',
      retryable: true,
      cause: error,
    });
  }
  return new PublishError('publish_failed', `Postgres refuses: ${error.message}${code === '' ? '' : ` (${code})`}`, {
    hint: 'check the user and its rights (publish.url), the certificate (publish.tls, publish.ca_file), and the log of Postgres; `usage-ledger publish --check` compares the copy with the ledger',
    cause: error,
  });
}
