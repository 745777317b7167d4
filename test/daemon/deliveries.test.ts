import { expect, onTestFinished, test } from 'vitest';
import type { DeliveryOutcome } from '../../src/alerts/channels/deliver.ts';
import { testPayload } from '../../src/alerts/messages/test-message.ts';
import type { ChannelConfig } from '../../src/config/channel-types.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { Deliveries } from '../../src/daemon/deliveries.ts';
import { openForWriting } from '../../src/ledger/store/file/open.ts';
import { type Receiver, startReceiver } from '../alerts/channels/receiver.ts';
import { recordingLogger } from '../queue/support.ts';
import { eventually } from '../support/eventually.ts';
import { messages, plantMessage } from '../support/messages.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';

const TIMES = { graceMs: 1_000, deadlineMs: 2_000 };

interface Row {
  notificationId: string;
  channel: string;
  dueMs: number;
}

interface Sent {
  row: Row;
  signal: AbortSignal;
  end(outcome: DeliveryOutcome | Error): void;
}

/** Messages in memory, whose receivers answer when the test says so. */
function play(rows: Row[]) {
  const clock = createVirtualClock(0);
  const { logger, lines } = recordingLogger();
  const sent: Sent[] = [];
  const inHand = new Set<Row>();
  let looks = 0;
  const free = () => rows.filter((row) => !inHand.has(row));
  const deliveries = new Deliveries({
    clock,
    logger,
    async compose() {
      return looks++;
    },
    dueDeliveries: (limit) =>
      [...Map.groupBy(free(), ({ channel }) => channel).values()].flatMap((own) =>
        own.filter(({ dueMs }) => dueMs <= clock.now()).slice(0, limit),
      ),
    untilNextDueMs() {
      const later = free().filter(({ dueMs }) => dueMs > clock.now());
      return later.length === 0 ? null : Math.min(...later.map(({ dueMs }) => dueMs)) - clock.now();
    },
    deliver: (notificationId, signal) =>
      new Promise((resolve, reject) => {
        const row = rows.find((candidate) => candidate.notificationId === notificationId);
        if (row === undefined) throw new Error(`${notificationId} is not there`);
        inHand.add(row);
        const end: Sent['end'] = (outcome) => {
          inHand.delete(row);
          if (outcome instanceof Error) return reject(outcome);
          if (outcome.state === 'pending') row.dueMs = clock.now() + outcome.delayMs;
          else rows.splice(rows.indexOf(row), 1);
          resolve(outcome);
        };
        sent.push({ row, signal, end });
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  const ids = () => sent.map(({ row }) => row.notificationId);
  return { clock, lines, sent, ids, rows, deliveries, looks: () => looks };
}

const due = (channel: string, count: number, dueMs = 0): Row[] =>
  Array.from({ length: count }, (_, index) => ({ notificationId: `${channel}-${index}`, channel, dueMs }));

test('a channel with a hanging receiver does not delay the others', async () => {
  const { clock, ids } = play([...due('slow', 9), ...due('fast', 1)]);
  await clock.advance(1);
  expect(ids()).toEqual(['slow-0', 'slow-1', 'slow-2', 'slow-3', 'fast-0']);
  await clock.advance(60_000);
  expect(ids()).toHaveLength(5);
});

test('each finished delivery frees its slot for the next one', async () => {
  const { clock, sent, rows } = play(due('hook', 2_500));
  await clock.advance(1);
  for (let index = 0; index < 2_500; index += 1) {
    sent[index]?.end({ state: 'delivered' });
    // What one sweep looks at is sent without a rest; the next comes soon.
    if (index % 4 === 3) await clock.advance(index % 1_000 === 999 ? 100 : 0);
  }
  expect(rows).toEqual([]);
  expect(sent).toHaveLength(2_500);
  expect(clock.monotonic()).toBe(201);
});

test('a failed delivery is retried exactly when the ledger schedules it', async () => {
  const { clock, sent, ids } = play(due('hook', 1));
  await clock.advance(1);
  sent[0]?.end({ state: 'pending', attempt: 1, delayMs: 4_321, reason: 'HTTP 503' });
  await clock.advance(4_320);
  expect(ids()).toEqual(['hook-0']);
  await clock.advance(1);
  expect(ids()).toEqual(['hook-0', 'hook-0']);
  // Later than the next sweep: that one sees to it.
  sent[1]?.end({ state: 'pending', attempt: 2, delayMs: 50_000, reason: 'HTTP 503' });
  await clock.advance(49_999);
  expect(ids()).toHaveLength(2);
  await clock.advance(1);
  expect(ids()).toHaveLength(3);
});

test('a manual replay does not wait for the retry delay', async () => {
  const { clock, sent, rows } = play(due('hook', 1));
  await clock.advance(1);
  sent[0]?.end({ state: 'pending', attempt: 1, delayMs: 6 * 3_600_000, reason: 'HTTP 404' });
  await clock.advance(60_000);
  expect(sent).toHaveLength(1);
  Object.assign(rows[0] ?? {}, { dueMs: clock.now() });
  await clock.advance(30_000);
  expect(sent).toHaveLength(2);
});

test('the outbox is read again after a delivery: another channel is notified of a dead one', async () => {
  const { clock, sent, ids, rows } = play(due('hook', 1));
  await clock.advance(1);
  rows.push(...due('mail', 1));
  sent[0]?.end({ state: 'dead', reason: 'HTTP 404', channel: 'hook', disabled: false });
  await clock.advance(100);
  expect(ids()).toEqual(['hook-0', 'mail-0']);
});

test('a delivery that fails in the ledger waits until the next pass, with those queued after it', async () => {
  const { clock, sent, ids, lines } = play(due('hook', 20));
  await clock.advance(1);
  for (const { end } of [...sent]) end(new Error('the disk is full'));
  await clock.advance(29_998);
  expect(ids()).toHaveLength(4);
  expect(lines.join()).toContain('the disk is full');
  await clock.advance(1);
  expect(ids()).toHaveLength(8);
});

test('a stop starts no further deliveries, aborts running ones after the grace period, and ends soon', async () => {
  const { clock, sent, ids, deliveries, looks } = play(due('hook', 20));
  await clock.advance(1);
  let stopped = false;
  const stop = deliveries.stop(TIMES).then(() => {
    stopped = true;
  });
  await clock.advance(999);
  sent[0]?.end({ state: 'delivered' });
  expect(sent[1]?.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(sent[1]?.signal.reason).toMatchObject({ code: 'stopping' });
  await stop;
  expect(stopped).toBe(true);
  expect(ids()).toHaveLength(4);
  await deliveries.sendDue();
  await clock.advance(120_000);
  expect(ids()).toHaveLength(4);
  expect(looks()).toBe(1);
});

test('a webhook that hangs does not delay the critical message of another channel', async () => {
  const hangs = await startReceiver(() => undefined);
  const takes = await startReceiver((response) => response.writeHead(204).end());
  const hook = (name: string, { url, close }: Receiver): ChannelConfig => {
    onTestFinished(close);
    return { type: 'webhook', name, url, secrets: [], allowPrivate: true, timeoutMs: 30_000 };
  };
  const fixture = await startFixture({ thread: true, channels: [hook('hangs', hangs), hook('takes', takes)] });
  await fixture.sync();
  const connection = openForWriting(fixture.config.ledger.path);
  onTestFinished(() => void connection.close());
  const at = new Date(fixture.clock.now()).toISOString();
  const add = (channel: string, number: number): void => {
    const id = `msg_${String(number).padStart(32, '0')}`;
    const text = testPayload({ notificationId: id, channel: 'x', createdAt: at });
    plantMessage(connection, { id, channel, text, state: 'fresh', createdAt: at });
  };
  for (let number = 0; number < 12; number += 1) add('hangs', number);
  add('takes', 12);
  const startedMs = performance.now();
  const daemon = await startDaemon(fixture.context);
  onTestFinished(() => daemon.stop());
  await eventually(() => expect(takes.received).toHaveLength(1), 15_000);
  expect(hangs.received.length).toBeGreaterThan(0);
  await daemon.stop();
  // Nobody waited until a request to the one that hangs was given up.
  expect(performance.now() - startedMs).toBeLessThan(25_000);
  const left = messages(fixture.view());
  expect(left).toHaveLength(13);
  expect(left.filter(({ channel }) => channel === 'hangs')).toMatchObject(
    Array(12).fill({ channel: 'hangs', state: 'pending', attempts: 0 }),
  );
});
