import { AppError } from '../core/errors.ts';

/** A fault of the replica. `retryable`: it may pass by itself. */
export class ReplicaError extends AppError {}

/**
 * This copy of the ledger may not publish: the replica holds what another copy has published. The message names both
 * heads.
 */
export class ReplicaRefusedError extends ReplicaError {
  constructor(message: string) {
    super('replica_refused', message, {
      hint: 'stop the other copy and publish from that one which is right; `usage-ledger restore --from-replica` takes over what the replica holds, `usage-ledger publish --replace` puts this ledger in its place',
    });
  }
}

/** Whether Postgres says that nobody has published to this schema: it has no such table. */
export function isUnpublished(error: unknown): boolean {
  return error instanceof ReplicaError && error.message.endsWith('(42P01)');
}

/** Whether Postgres refuses a statement that it would refuse again, for what it says or who says it. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ReplicaError && !error.retryable;
}

/** Classes of SQLSTATE that another attempt may find gone: connection, resources, shutdown, system, conflicts. */
const PASSING = /^(08|53|57|58|40)/;
/** The same of sockets and name servers. */
const PASSING_CODES: readonly string[] = [
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'ETIMEDOUT',
    'EPIPE',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENOENT',
  ],
];

/** SQLSTATE: no room on the disk. */
const DISK_FULL = '53100';
/** SQLSTATE of a write where only reading is allowed. */
const READ_ONLY = '25006';

/** What Node says of a certificate that it does not trust. */
const UNTRUSTED = /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA)/;
const REMEDIES: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'it belongs to another host: check the host of publish.url',
  CERT_HAS_EXPIRED: 'have it renewed on the server',
};
const PRIVATE_AUTHORITY = 'name the file of its authority in `publish.ca_file`';

/** What Postgres, or the way to it, says, as an error of ours; anything else stays as it is. */
export function replicaErrorOf(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (UNTRUSTED.test(code)) {
    const hint = `${REMEDIES[code] ?? PRIVATE_AUTHORITY}; \`publish.tls: require\` encrypts without asking who answers`;
    const message = `the certificate of the replica's server is not trusted: ${error.message} (${code})`;
    return new ReplicaError('replica_untrusted', message, { hint, cause: error });
  }
  // All that pg says of it.
  if (code === '' && /does not support SSL/i.test(error.message)) {
    return new ReplicaError('replica_plain', "the replica's server does not encrypt", {
      hint: 'switch `ssl` on there; `publish.tls: off` is for this machine only',
      cause: error,
    });
  }
  // Whatever it says last, a server that ends itself is begun anew.
  const panics = 'severity' in error && error.severity === 'PANIC';
  const isWay = code === '' && /connection|timeout|terminated/i.test(error.message);
  if (PASSING_CODES.includes(code) || PASSING.test(code) || isWay || panics) {
    return new ReplicaError('replica_unreachable', `the replica cannot be used now: ${error.message}`, {
      retryable: true,
      hint:
        code === DISK_FULL
          ? "make room on the server's disk; what is not published yet follows by itself"
          : 'check publish.url, that Postgres runs and takes connections from here, and its disk; what is not published yet follows by itself',
      cause: error,
    });
  }
  if (!/^[0-9A-Z]{5}$/.test(code)) return error;
  if (code === READ_ONLY) {
    return new ReplicaError('replica_denied', `the replica takes no writes: ${error.message}`, {
      hint: 'publish.url names a standby, or a user that only reads: name the first server and the publisher',
      cause: error,
    });
  }
  const denied = code.startsWith('28') || code === '42501' || code === '3D000';
  return new ReplicaError(
    denied ? 'replica_denied' : 'replica_failed',
    `Postgres refuses: ${error.message} (${code})`,
    {
      hint: denied
        ? 'check user, password and database of publish.url, and that the user may create the schema of publish.schema'
        : 'the log of Postgres says more',
      cause: error,
    },
  );
}
