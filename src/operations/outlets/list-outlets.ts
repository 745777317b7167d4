import { z } from 'zod';
import { readOutletStatuses } from '../../outlets/outlet-status.ts';
import { documentOperation } from '../operation.ts';

const count = z.int().min(0);
const quantity = z.bigint();

const outlet = z.strictObject({
  name: z.string(),
  receiver: z.string().describe('the type of the receiver'),
  send: z.enum(['credits', 'requests']),
  state: z.enum(['sending', 'paused', 'not_started', 'differs']),
  reason: z.string().nullable().describe('why the outlet does not send; null while it does'),
  from_period: z.string().nullable(),
  waiting: count.describe('entries of the ledger that are not sent yet'),
  held: count.describe('events whose tenant has no name in the receiver'),
  late: count.describe("events outside the receiver's window"),
  refused: count,
  settled: count,
  quantities: z.strictObject({ held: quantity, late: quantity, refused: quantity, settled: quantity }),
  checked_at: z.string().nullable(),
  differences: z.array(z.unknown()).readonly().nullable().describe('what the last comparison found'),
});

export const listOutlets = documentOperation({
  name: 'outlets.list',
  summary: 'Show each outlet: its state, waiting events, and events that its receiver does not have',
  details:
    'Shows whether the billing systems have all usage: `waiting` is not sent yet, `held`, `late` and `refused` need a person. views_read with `outlet_events` has each event.',
  role: 'read',
  input: z.strictObject({}),
  output: z.strictObject({ outlets: z.array(outlet) }),
  http: { method: 'GET', path: '/outlets' },
  command: 'outlets status',
  run({ connection, context }) {
    const statuses = readOutletStatuses(connection, context.config.outlets);
    return {
      outlets: statuses.map(({ events, ...status }) => ({
        name: status.name,
        receiver: status.type,
        send: status.send,
        state: status.state,
        reason: status.reason,
        from_period: status.fromPeriod,
        waiting: status.waiting,
        held: events.held.events,
        late: events.late.events,
        refused: events.refused.events,
        settled: events.settled.events,
        quantities: {
          held: events.held.quantity,
          late: events.late.quantity,
          refused: events.refused.quantity,
          settled: events.settled.quantity,
        },
        checked_at: status.checkedAt,
        differences: status.differences,
      })),
    };
  },
});
