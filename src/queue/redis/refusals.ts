import { messageOf } from '../../core/errors.ts';
import { firstOf } from '../../core/text/words.ts';

/** Why Redis cannot be used, for people: the daemon, `doctor` and `status` use the same words. */
export interface RedisFault {
  /** The first word of Redis' answer, such as NOPERM; one of ours where it gives none. */
  code: string;
  /** What Redis does, after "Redis is not available: ". */
  reason: string;
  /** What to do, an imperative. */
  hint: string;
}

/** What was asked, for words that Redis' answer leaves out. */
export interface AskedOf {
  /** The user of the connection; `default` where the address names none. */
  username: string;
  db: number;
  /** The pattern of the keys that the queue uses, such as `bull:ul-*`. */
  keyPattern: string;
}

/** The keys of every ledger's queue, for an ACL rule. */
export const KEY_PATTERN = 'bull:ul-*';

interface Refusal {
  reason: string;
  hint: string;
}

const PRIMARY = 'point redis_url at the primary, or promote this server with REPLICAOF NO ONE';
const NO_CLUSTER = { reason: 'it runs in cluster mode', hint: 'use a Redis without cluster mode' };
const SCRIPT_RUNS = {
  reason: 'a script has blocked it',
  hint: 'wait for the script to end, or end it with SCRIPT KILL',
};

/** By the first word of the answer. NOPERM is not here: its words name the missing permissions. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
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

/** Answers that begin with ERR, by their text: Redis has no word of its own for them. */
const WORDLESS: readonly (readonly [pattern: RegExp, code: string, refusal: (asked: AskedOf) => Refusal])[] = [
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
  [/invalid password/i, 'WRONGPASS', () => REFUSALS.WRONGPASS as Refusal],
  [/operation not permitted/i, 'NOAUTH', () => REFUSALS.NOAUTH as Refusal],
];

/** Missing permissions of an ACL user, as Redis 6 and 7 and Valkey word them. */
const IN_SCRIPT = /user executing the script can't|ACL failure in script/i;
const COMMAND_DENIED = /no permissions to run the '([^']+)' command/i;
const KEYS_DENIED = /no permissions to access (?:a key|one of the keys)|can't access at least one of the keys/i;
const CHANNELS_DENIED = /no permissions to access (?:a channel|one of the channels)/i;
const UNKNOWN_COMMAND = /^ERR unknown command ['`]?([\w|-]+)/i;

/** An error that Redis answered. By name: importing ioredis for its class would load all of it into every command. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Converts an answer by which Redis refuses a command into a fault; null for any other error, such as a wrong argument. */
export function refusalOf(error: unknown, asked: AskedOf): RedisFault | null {
  if (!isReply(error)) return null;
  return combinedRefusal([{ command: '', error }], asked);
}

/** As `refusalOf`, but any answer of Redis that is an error counts as a refusal. */
export function faultOf(error: unknown, asked: AskedOf): RedisFault {
  const refusal = refusalOf(error, asked);
  if (refusal !== null) return refusal;
  const message = messageOf(error);
  if (isReply(error)) {
    const code = message.split(' ', 1)[0] ?? 'ERR';
    // Redis appends the digest and the line of a script.
    const reason = `it answered ${JSON.stringify(message.replace(/,? script: [0-9a-f]{40}.*$/, ''))}`;
    return { code, reason, hint: 'see the log of Redis for the cause' };
  }
  return { code: 'AWAY', reason: message, hint: 'start Redis, or correct redis_url' };
}

export interface RefusedCommand {
  /** In capitals; empty where only Redis' answer names it. */
  command: string;
  error: Error;
}

/** One fault for all commands that were refused; null when none of the errors is a refusal. */
export function combinedRefusal(refused: readonly RefusedCommand[], asked: AskedOf): RedisFault | null {
  for (const { error } of refused) {
    const refusal = refusalByWord(error.message, asked);
    if (refusal !== null) return refusal;
  }
  return missingPermissions(refused, asked) ?? missingCommands(refused);
}

function refusalByWord(message: string, asked: AskedOf): RedisFault | null {
  const code = message.split(' ', 1)[0] ?? '';
  const known = REFUSALS[code];
  if (known !== undefined) return { code, reason: `${known.reason} (${code})`, hint: known.hint };
  if (code !== 'ERR') return null;
  for (const [pattern, own, refusal] of WORDLESS) {
    if (pattern.test(message)) return { code: own, ...refusal(asked) };
  }
  return null;
}

function missingPermissions(refused: readonly RefusedCommand[], { username, keyPattern }: AskedOf): RedisFault | null {
  const denied = refused.filter(({ error: { message } }) => /^NOPERM\b/.test(message) || IN_SCRIPT.test(message));
  if (denied.length === 0) return null;
  const commands = new Set<string>();
  let keys = false;
  let channels = false;
  for (const { command, error } of denied) {
    const named = COMMAND_DENIED.exec(error.message)?.[1]?.toUpperCase().replace('|', ' ');
    if (KEYS_DENIED.test(error.message)) keys = true;
    else if (CHANNELS_DENIED.test(error.message)) channels = true;
    // In a script Redis names no command; the probe runs each of them by itself, too.
    else if (named !== undefined || !IN_SCRIPT.test(error.message)) commands.add(named ?? command);
  }
  if (commands.size === 0 && !keys && !channels) commands.add(UNNAMED);
  const lacks = [
    ...(commands.size > 0 ? [`run ${listed([...commands])}`] : []),
    ...(keys ? [`use the keys ${keyPattern}`] : []),
    ...(channels ? ['use its channels'] : []),
  ];
  const rights = [...commandRights([...commands]), ...(keys ? [`~${keyPattern}`] : []), ...(channels ? ['&*'] : [])];
  return {
    code: 'NOPERM',
    reason: `its user ${JSON.stringify(username)} may not ${lacks.join(' or ')} (NOPERM)`,
    hint: `grant the user what is missing: ACL SETUSER ${username} ${rights.join(' ')}`,
  };
}

const UNNAMED = 'a command of a script';
/** With more commands missing, categories are easier to read and to grant. */
const MAX_LISTED = 12;

function commandRights(commands: readonly string[]): string[] {
  if (commands.length > MAX_LISTED || commands.includes(UNNAMED)) return ['+@read', '+@write', '+@scripting'];
  return commands.map((name) => `+${name.toLowerCase().replace(' ', '|')}`);
}

function missingCommands(refused: readonly RefusedCommand[]): RedisFault | null {
  const names = refused.flatMap(({ error }) => UNKNOWN_COMMAND.exec(error.message)?.[1]?.toUpperCase() ?? []);
  if (names.length === 0) return null;
  return {
    code: 'UNKNOWN_COMMAND',
    reason: `it does not have ${listed([...new Set(names)])}`,
    hint: 'use Redis 6.2 or newer, or Valkey, in which no command is renamed or disabled',
  };
}

function listed(names: readonly string[]): string {
  if (names.length > MAX_LISTED) return firstOf(names, MAX_LISTED);
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
