import { expect, onTestFinished, test } from 'vitest';
import { evaluateJob } from '../../../src/alerts/evaluate-system.ts';
import { composeEmergency, type EmergencyMessage } from '../../../src/alerts/outbox/emergency.ts';
import { toRoutes } from '../../../src/alerts/pipeline/route.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { startDiskWatch, UnrecordedFault } from '../../../src/daemon/watches/disk-watch.ts';
import { toLedgerError } from '../../../src/ledger/store/file/sqlite-errors.ts';
import { DISK_FAULT_CODES } from '../../../src/writer/writer.ts';
import { answerWaiting, messages, pendingNotifications } from '../../support/messages.ts';
import { openLedger } from '../../support/open-ledger.ts';
import { notifying, setRoutes } from '../../support/run/real-run.ts';
import { NOON, testClock } from '../../support/time/test-clock.ts';

const MINUTE_MS = 60_000;
const MIB = 1024 ** 2;
const GIB = 1024 * MIB;
type Options = Parameters<typeof startDiskWatch>[0];

function watchOf(options: Partial<Options>) {
  const clock = testClock();
  const watch = startDiskWatch({
    freeBytes: () => 100 * GIB,
    writeFault: () => null,
    reportHealth: async () => true,
    messages: async () => [],
    send: async () => 'accepted',
    clock,
    logger: createLogger({ level: 'silent' }),
    ...options,
  });
  onTestFinished(() => watch.stop());
  const pass = async (minutes: number, each: () => void = () => undefined): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      clock.advance(MINUTE_MS);
      each();
      await watch.run();
    }
  };
  return { clock, pass };
}

test('a disk that will be full within a day raises an alert after an hour, which ends when it has room again', async () => {
  let free = 10 * GIB;
  const told: (string | null)[] = [];
  const reportHealth: Options['reportHealth'] = async (detail) => told.push(detail) > 0;
  const { pass } = watchOf({ freeBytes: () => free, reportHealth });
  const fill = (perHour: number) => () => {
    free -= perHour / 60;
  };
  await pass(59, fill(GIB));
  // Who told of it before, if anybody did, may have ended meanwhile.
  expect(told.splice(0)).toEqual([null]);
  await pass(30, fill(GIB));
  expect(told).toEqual([
    expect.stringMatching(/^\d,\d{3} MiB free, enough for [89] hours at the rate of the last three hours$/),
  ]);
  free = 100 * GIB;
  await pass(200, fill(0));
  expect(told.slice(1)).toEqual([null]);
});

test('a backup or a slow fill raises no alert; little free space does', async () => {
  let free = 10 * GIB;
  const told: (string | null)[] = [];
  const reportHealth: Options['reportHealth'] = async (detail) => told.push(detail) > 0;
  const { pass } = watchOf({ freeBytes: () => free, reportHealth });
  await pass(100, () => {
    free -= MIB;
  });
  // Every few hours a backup takes a gigabyte.
  for (const _ of [1, 2, 3]) {
    free -= GIB;
    await pass(200);
  }
  expect(told.splice(0)).toEqual([null]);
  free = 499 * MIB;
  await pass(3);
  expect(told).toEqual(['499 MiB free']);
  free = 600 * MIB;
  await pass(3);
  free = 700 * MIB;
  await pass(3);
  expect(told).toEqual(['499 MiB free', null]);
});

test('an unwritable ledger causes one emergency notification per channel, recorded once it can be written', async () => {
  const { connection } = openLedger();
  const routes = toRoutes([
    { type: 'log', name: 'a' },
    { type: 'log', name: 'b' },
    {
      type: 'log',
      name: 'quiet',
      route: { severities: ['warning'], rules: ['jump'], digestHour: null, followUps: 'digest' },
    },
  ]);
  setRoutes(connection, routes, NOON);
  const isFull = (yes: boolean) => connection.pragma(`query_only = ${yes ? 1 : 0}`);
  const sent: EmergencyMessage[] = [];
  let away = ['b'];
  let fault: string | null = null;
  const { clock, pass } = watchOf({
    writeFault: () => fault,
    async reportHealth(detail, heard) {
      try {
        evaluateJob(connection, { job: 'disk', detail }, notifying(connection, clock.now()), heard);
        fault = null;
        return true;
      } catch (error) {
        if (!DISK_FAULT_CODES.includes(toLedgerError(error)?.code ?? '')) throw error;
        fault = 'database or disk is full';
        return false;
      }
    },
    messages: async (detail) => composeEmergency(connection, routes, { job: 'disk', detail }, clock.now()),
    async send(message) {
      if (away.includes(message.channel)) return 'refused';
      sent.push(message);
      return 'accepted';
    },
  });
  isFull(true);
  fault = 'database or disk is full';
  await pass(1);
  expect(sent).toEqual([]);
  await pass(5);
  expect(sent.map(({ channel }) => channel)).toEqual(['a']);
  const told = JSON.parse(sent[0]?.payload ?? '');
  expect(told).toMatchObject({
    rule: 'job_failed',
    cause: 'disk',
    event: 'opened',
    severity: 'critical',
    state: 'firing',
  });
  expect(told.summary).toContain('Cannot write the ledger: database or disk is full');
  away = [];
  await pass(5);
  expect(sent.map(({ channel }) => channel)).toEqual(['a', 'b']);

  isFull(false);
  await pass(1);
  expect(messages(connection).map(({ id, channel, state }) => [id, channel, state])).toEqual(
    sent.map(({ notificationId, channel }) => [notificationId, channel, 'delivered']),
  );
  expect(messages(connection)[0]?.payload.alert_id).toBe(told.alert_id);
  expect(pendingNotifications(connection)).toEqual([]);
  await pass(3);
  const ends = answerWaiting(connection, 'accepted', clock.now());
  expect(ends.map(({ channel, event, payload }) => [channel, event, payload.revision > told.revision])).toEqual([
    ['a', 'closed', true],
    ['b', 'closed', true],
  ]);
  expect(connection.prepare("SELECT alert_id, state FROM alerts WHERE cause = 'disk'").all()).toEqual([
    { alert_id: told.alert_id, state: 'resolved' },
  ]);
});

test('an emergency notification that may have arrived is retried under its id', async () => {
  const { connection } = openLedger();
  const routes = toRoutes([{ type: 'log', name: 'a' }]);
  setRoutes(connection, routes, NOON);
  const news = { job: 'disk', detail: 'it cannot be written' } as const;
  const sent: EmergencyMessage[] = [];
  const unrecorded = new UnrecordedFault(news.detail);
  const past = {
    messages: async () => composeEmergency(connection, routes, news, NOON),
    send: async (message: EmergencyMessage) => {
      sent.push(message);
      return sent.length === 1 ? ('unknown' as const) : ('refused' as const);
    },
  };
  for (let pass = 0; pass < 2; pass += 1) await unrecorded.send(past, new AbortController().signal);
  evaluateJob(connection, news, notifying(connection, NOON), unrecorded.alreadySent);

  expect(messages(connection).map(({ id, state }) => [id, state])).toEqual([[sent[0]?.notificationId, 'pending']]);
  expect(new Set(sent.map(({ notificationId }) => notificationId)).size).toBe(1);
});
