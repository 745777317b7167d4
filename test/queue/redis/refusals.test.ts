import { ReplyError } from 'ioredis';
import { expect, test } from 'vitest';
import { combineRefusals, toRedisFault, toRedisRefusal } from '../../../src/queue/redis/refusals.ts';

const ASKED = { username: 'ledger', db: 3, keyPattern: 'bull:ul-*' };

/** Answers as servers give them: `src/server.c`, `src/acl.c` and `src/script.c` of Redis 6.2 to 8, and of Valkey 8. */
test.each([
  ["NOPERM this user has no permissions to run the 'info' command", /user "ledger" may not run INFO/, /\+info$/],
  ["NOPERM User ledger has no permissions to run the 'eval' command", /may not run EVAL/, /SETUSER ledger \+eval$/],
  ["NOPERM User x has no permissions to run the 'client|setinfo' command", /CLIENT SETINFO/, /\+client\|setinfo$/],
  ["NOPERM this user has no permissions to run the 'eval' command or its subcommand", /may not run EVAL/, /\+eval$/],
  [
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    /keys bull:ul-\*/,
    /~bull:ul-\*$/,
  ],
  ['NOPERM No permissions to access a key', /keys bull:ul-\*/, /~bull:ul-\*$/],
  ['NOPERM No permissions to access a channel', /channels/, /&\*$/],
  ["NOPERM ACL failure in script: User x has no permissions to run the 'xadd' command", /XADD/, /\+xadd$/],
  ["ERR The user executing the script can't run this command or subcommand script: a", /a script/, /\+@read \+@write/],
  ["READONLY You can't write against a read only replica.", /read-only replica \(READONLY\)/, /primary/],
  ["OOM command not allowed when used memory > 'maxmemory'.", /memory is full \(OOM\)/, /maxmemory/],
  ['LOADING Redis is loading the dataset in memory', /loading/, /wait/],
  ['LOADING Valkey is loading the dataset in memory', /loading/, /wait/],
  [
    'MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist',
    /save/,
    /log of Redis/,
  ],
  ['NOAUTH Authentication required.', /requires a password/, /redis_url/],
  ['NOAUTH HELLO must be called with the client already authenticated, otherwise', /requires a password/, /redis_url/],
  ['WRONGPASS invalid username-password pair or user is disabled.', /rejects the user/, /correct the user/],
  ['ERR invalid password', /rejects the user/, /correct the user/],
  ['ERR DB index is out of range', /no database 3/, /lower database number/],
  ['ERR max number of clients reached', /no more clients/, /maxclients/],
  ['DENIED Redis is running in protected mode because protected mode is enabled', /protected mode/, /password/],
  ["ERR unknown command 'EVAL', with args beginning with: 'return 1' '0'", /does not have EVAL/, /6\.2 or newer/],
  ['ERR unknown command `bzpopmin`, with args beginning with:', /does not have BZPOPMIN/, /6\.2 or newer/],
  ['MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to', /replica without/, /primary/],
  ['NOREPLICAS Not enough good replicas to write.', /too few replicas/, /min-replicas-to-write/],
  ['MOVED 3999 127.0.0.1:6381', /cluster mode/, /without cluster mode/],
  ["CROSSSLOT Keys in request don't hash to the same slot", /cluster mode/, /without cluster mode/],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', /script/, /SCRIPT KILL/],
])('%s', (answer, reason, hint) => {
  expect(toRedisRefusal(new ReplyError(answer), ASKED)).toMatchObject({
    reason: expect.stringMatching(reason),
    hint: expect.stringMatching(hint),
  });
});

test.each([
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  'ERR syntax error',
  'NOSCRIPT No matching script. Please use EVAL.',
  "ERR wrong number of arguments for 'get' command",
  'ERR value is not an integer or out of range',
])('%s is no refusal, but a command that is wrong', (answer) => {
  expect(toRedisRefusal(new ReplyError(answer), ASKED)).toBeNull();
});

test('an error of another kind is not a refusal', () => {
  expect(toRedisRefusal(new Error('NOAUTH Authentication required.'), ASKED)).toBeNull();
  expect(toRedisFault(new Error('connect ECONNREFUSED 127.0.0.1:9'), ASKED)).toMatchObject({
    reason: expect.stringContaining('ECONNREFUSED'),
    hint: 'start Redis, or correct redis_url',
  });
});

test('an unknown reply is quoted, without the digest of a script', () => {
  const digest = 'a'.repeat(40);
  const error = new ReplyError(`ERR max daily request limit exceeded script: ${digest}, on @user_script:1.`);
  expect(toRedisFault(error, ASKED)).toEqual({
    code: 'ERR',
    reason: 'it replied "ERR max daily request limit exceeded"',
    hint: 'see the log of Redis for the cause',
  });
});

const denied = (command: string) => ({
  command,
  error: new ReplyError(`NOPERM User ledger has no permissions to run the '${command.toLowerCase()}' command`),
});

test('all missing permissions are one fault, and its remedy can be copied', () => {
  const keys = { command: 'SET', error: new ReplyError('NOPERM No permissions to access a key') };
  expect(combineRefusals([denied('EVAL'), denied('EVALSHA'), keys, denied('EVAL')], ASKED)).toEqual({
    code: 'NOPERM',
    reason: 'its user "ledger" may not run EVAL and EVALSHA or use the keys bull:ul-* (NOPERM)',
    hint: 'grant the user what is missing: ACL SETUSER ledger +eval +evalsha ~bull:ul-*',
  });
});

test('a user that may run almost nothing gets a remedy with categories', () => {
  const commands = Array.from({ length: 40 }, (_, index) => denied(`COMMAND${index}`));
  const fault = combineRefusals(commands, ASKED);
  expect(fault?.reason).toContain('and 28 more');
  expect(fault?.hint).toBe('grant the user what is missing: ACL SETUSER ledger +@read +@write +@scripting');
});

test('the state of the server takes precedence over missing permissions', () => {
  const readonly = { command: 'SET', error: new ReplyError("READONLY You can't write against a read only replica.") };
  expect(combineRefusals([denied('EVAL'), readonly], ASKED)?.code).toBe('READONLY');
});
