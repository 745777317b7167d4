import { z } from 'zod';
import { type DeadLetter, findDeadLetters } from '../../alerts/outbox/replay.ts';
import { UsageError } from '../../core/errors.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { changeOperation, listOperation, type RowKey, rowsAfter } from '../operation.ts';
import { idText, rowSchema } from '../schemas.ts';

export const UNDELIVERED_COLUMNS: readonly Column<DeadLetter>[] = [
  { name: 'notification_id', kind: 'id', header: 'Notification' },
  { name: 'channel', kind: 'text', header: 'Channel' },
  { name: 'attempts', kind: 'count', header: 'Attempts' },
  { name: 'created_at', kind: 'date', header: 'Created' },
  { name: 'last_error', kind: 'text', header: 'Reason' },
];

const row = rowSchema(UNDELIVERED_COLUMNS, ['last_error']);

export const listUndelivered = listOperation({
  name: 'messages.undelivered',
  summary: 'List messages that no channel accepted',
  details:
    'Messages that no channel took after all attempts, with the last error. Empty when every receiver has its messages. views_read with `alert_messages` has the others.',
  role: 'read',
  input: z.strictObject({}),
  http: { method: 'GET', path: '/messages/undelivered' },
  command: 'alerts replay',
  title: 'messages',
  member: 'rows',
  head: z.strictObject({}),
  row,
  columns: UNDELIVERED_COLUMNS,
  keyOf,
  run: ({ connection }, _input, page) => ({ head: {}, rows: rowsAfter(findDeadLetters(connection), keyOf, page) }),
});

function keyOf({ created_at, notification_id }: DeadLetter): RowKey {
  return [created_at, notification_id];
}

const MAX_IDS = 1000;

export const replayMessages = changeOperation({
  name: 'messages.replay',
  summary: 'Send undelivered messages again, with current figures',
  role: 'operate',
  input: z.strictObject({
    notification_ids: z.array(idText).min(1).max(MAX_IDS).optional().describe('these messages'),
    all: z.boolean().optional().describe('all undelivered messages, and those that wait for a retry'),
  }),
  output: z.strictObject({
    replayed: z.array(row).describe('messages whose alerts are due again'),
    dropped: z.array(row).describe('messages whose alerts ended, or were notified since'),
    retried: z.int().describe('alerts that no longer wait for a retry'),
    enabled: z.array(z.string()).describe('channels that are used again'),
    without_channel: z.array(row).describe('messages of channels that are not configured'),
  }),
  http: { method: 'POST', path: '/messages/replay' },
  command: 'alerts replay',
  async run({ context }, { notification_ids: ids = [], all = false }) {
    if (ids.length > 0 === all) {
      throw new UsageError(
        all ? 'message ids conflict with all messages' : 'no message is named',
        'name message ids, or ask for all undelivered messages',
      );
    }
    const writer = await context.existingWriter();
    const report = await writer.replayDead({ notificationIds: all ? null : ids, nowMs: context.clock.now() });
    return { applied: true, document: report, notes: [] };
  },
});
