import { messageOf } from '../../core/errors.ts';
import { firstOf } from '../../core/text/words.ts';

/** Why Redis is unusable, in the words that the daemon, `doctor` and `status` show. */
export interface RedisFault {
  /** The first word of Redis' error reply, such as NOPERM. A code of this program if the reply has none. */
  code: string;
  /** The cause, in words that follow "Redis is not available: ". */
  reason: string;
  /** The remedy as an imperative. */
  hint: string;
}

/** The user, database and keys of a connection, which error replies omit. */
export interface RedisAccess {
  /** The user of the connection; `default` if the address names none. */
  username: string;
  db: number;
  /** The pattern of the keys that the queue uses, such as `bull:ul-*`. */
  keyPattern: string;
}

/** The pattern of the keys of all ledgers' queues, as an ACL rule needs it. */
export const KEY_PATTERN = 'bull:ul-*';

interface RefusalText {
  reason: string;
  hint: string;
}

const PRIMARY = 'point redis_url at the primary, or promote this server with REPLICAOF NO ONE';
const NO_CLUSTER = { reason: 'it runs in cluster mode', hint: 'use a Redis without cluster mode' };
const SCRIPT_RUNS = {
  reason: 'a script has blocked it',
  hint: 'wait for the script to end, or end it with SCRIPT KILL',
};

/**
 * Reasons and remedies by the first word of an error reply. NOPERM is not listed: `missingPermissions` reads the
 * missing permissions from its text.
 */
const REFUSALS_BY_CODE: Readonly<Record<string, RefusalText>> = {
  ASK: NO_CLUSTER,
  BUSY: SCRIPT_RUNS,
  CLUSTERDOWN: NO_CLUSTER,
  CROSSSLOT: NO_CLUSTER,
  DENIED: {
    reason: 'it runs in protected mode and accepts local connections only',
    hint: 'set a password in Redis and add it to redis_url',
  },
  EXECABORT: { reason: 'it discarded a transaction', hint: 'see the log of Redis for the cause' },
  LOADING: {
    reason: 'it is loading its data from disk',
    hint: 'wait until it has loaded; the daemon continues by itself',
  },
  MASTERDOWN: { reason: 'it is a replica without a connection to its primary', hint: PRIMARY },
  MISCONF: {
    reason: 'it cannot save its data to disk and accepts no writes',
    hint: 'see the log of Redis for the cause, such as a full disk or a missing folder',
  },
  MOVED: NO_CLUSTER,
  NOAUTH: {
    reason: 'it requires a password, and redis_url has none',
    hint: 'add the password to redis_url, as in redis://user:password@host:port, and restart the daemon',
  },
  NOREPLICAS: {
    reason: 'too few replicas are connected, and it accepts no writes',
    hint: 'start the replicas, or lower min-replicas-to-write',
  },
  OOM: {
    reason: 'its memory is full',
    hint: 'raise maxmemory, or remove data of other programs',
  },
  READONLY: { reason: 'it is a read-only replica', hint: PRIMARY },
  TRYAGAIN: NO_CLUSTER,
  UNKILLABLE: SCRIPT_RUNS,
  WRONGPASS: {
    reason: 'it rejects the user or the password',
    hint: 'correct the user and password in redis_url and restart the daemon, or restore them in Redis',
  },
};

/** Refusals whose reply begins with the general code ERR. They are recognized by their text. */
const REFUSALS_BY_PATTERN: readonly (readonly [
  pattern: RegExp,
  code: string,
  refusal: (context: RedisAccess) => RefusalText,
])[] = [
  [
    /DB index is out of range|invalid DB index|SELECT is not allowed/i,
    'DB_INDEX',
    ({ db }) => ({
      reason: `it has no database ${db}`,
      hint: 'choose a lower database number in redis_url, or raise `databases` in the configuration of Redis',
    }),
  ],
  [
    /max number of clients/i,
    'MAXCLIENTS',
    () => ({ reason: 'it accepts no more clients', hint: 'raise maxclients, or close other clients' }),
  ],
  [/invalid password/i, 'WRONGPASS', () => REFUSALS_BY_CODE.WRONGPASS as RefusalText],
  [/operation not permitted/i, 'NOAUTH', () => REFUSALS_BY_CODE.NOAUTH as RefusalText],
];

/** Replies about missing ACL permissions, in Redis 6, Redis 7 and Valkey. */
const IN_SCRIPT = /user executing the script can't|ACL failure in script/i;
const COMMAND_DENIED = /no permissions to run the '([^']+)' command/i;
const KEYS_DENIED = /no permissions to access (?:a key|one of the keys)|can't access at least one of the keys/i;
const CHANNELS_DENIED = /no permissions to access (?:a channel|one of the channels)/i;
const UNKNOWN_COMMAND = /^ERR unknown command ['`]?([\w|-]+)/i;

/**
 * Reports whether an error is an error reply of Redis. It compares the name of the error's class, because importing the
 * class would load all of ioredis into every command.
 */
export function isRedisReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Converts a reply that refuses a command into a fault. Returns null for any other error, such as a wrong argument. */
export function toRedisRefusal(error: unknown, context: RedisAccess): RedisFault | null {
  if (!isRedisReply(error)) return null;
  return combineRefusals([{ command: '', error }], context);
}

/** Converts any error of a Redis call into a fault; an error without a reply means that Redis is away. */
export function toRedisFault(error: unknown, context: RedisAccess): RedisFault {
  const refusal = toRedisRefusal(error, context);
  if (refusal !== null) return refusal;
  const message = messageOf(error);
  if (isRedisReply(error)) {
    const code = message.split(' ', 1)[0] ?? 'ERR';
    // Removes the digest and line of the script, which Redis appends.
    const reason = `it replied ${JSON.stringify(message.replace(/,? script: [0-9a-f]{40}.*$/, ''))}`;
    return { code, reason, hint: 'see the log of Redis for the cause' };
  }
  return { code: 'AWAY', reason: message, hint: 'start Redis, or correct redis_url' };
}

export interface RefusedCommand {
  /** The command in capitals; empty if only the reply names it. */
  command: string;
  error: Error;
}

/** Combines refused commands into one fault; null if none of the errors is a refusal. */
export function combineRefusals(refused: readonly RefusedCommand[], context: RedisAccess): RedisFault | null {
  for (const { error } of refused) {
    const refusal = refusalByCode(error.message, context);
    if (refusal !== null) return refusal;
  }
  return missingPermissions(refused, context) ?? missingCommands(refused);
}

function refusalByCode(message: string, context: RedisAccess): RedisFault | null {
  const code = message.split(' ', 1)[0] ?? '';
  const known = REFUSALS_BY_CODE[code];
  if (known !== undefined) return { code, reason: `${known.reason} (${code})`, hint: known.hint };
  if (code !== 'ERR') return null;
  for (const [pattern, code, refusal] of REFUSALS_BY_PATTERN) {
    if (pattern.test(message)) return { code: code, ...refusal(context) };
  }
  return null;
}

function missingPermissions(
  refused: readonly RefusedCommand[],
  { username, keyPattern }: RedisAccess,
): RedisFault | null {
  const denied = refused.filter(({ error: { message } }) => /^NOPERM\b/.test(message) || IN_SCRIPT.test(message));
  if (denied.length === 0) return null;
  const commands = new Set<string>();
  let keys = false;
  let channels = false;
  for (const { command, error } of denied) {
    const named = COMMAND_DENIED.exec(error.message)?.[1]?.toUpperCase().replace('|', ' ');
    if (KEYS_DENIED.test(error.message)) keys = true;
    else if (CHANNELS_DENIED.test(error.message)) channels = true;
    // Redis does not name a command that it refuses in a script, but the probe also runs each command by itself.
    else if (named !== undefined || !IN_SCRIPT.test(error.message)) commands.add(named ?? command);
  }
  if (commands.size === 0 && !keys && !channels) commands.add(UNNAMED_COMMAND);
  const missing = [
    ...(commands.size > 0 ? [`run ${joinNames([...commands])}`] : []),
    ...(keys ? [`use the keys ${keyPattern}`] : []),
    ...(channels ? ['use its channels'] : []),
  ];
  const rights = [...commandRights([...commands]), ...(keys ? [`~${keyPattern}`] : []), ...(channels ? ['&*'] : [])];
  return {
    code: 'NOPERM',
    reason: `its user ${JSON.stringify(username)} may not ${missing.join(' or ')} (NOPERM)`,
    hint: `grant the user what is missing: ACL SETUSER ${username} ${rights.join(' ')}`,
  };
}

const UNNAMED_COMMAND = 'a command of a script';
/** If more commands are missing, the remedy grants categories of commands, which are easier to read. */
const MAX_LISTED = 12;

function commandRights(commands: readonly string[]): string[] {
  if (commands.length > MAX_LISTED || commands.includes(UNNAMED_COMMAND)) return ['+@read', '+@write', '+@scripting'];
  return commands.map((name) => `+${name.toLowerCase().replace(' ', '|')}`);
}

function missingCommands(refused: readonly RefusedCommand[]): RedisFault | null {
  const names = refused.flatMap(({ error }) => UNKNOWN_COMMAND.exec(error.message)?.[1]?.toUpperCase() ?? []);
  if (names.length === 0) return null;
  return {
    code: 'UNKNOWN_COMMAND',
    reason: `it does not have ${joinNames([...new Set(names)])}`,
    hint: 'use Redis 6.2 or newer, or Valkey, in which no command is renamed or disabled',
  };
}

function joinNames(names: readonly string[]): string {
  if (names.length > MAX_LISTED) return firstOf(names, MAX_LISTED);
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
