import { z } from 'zod';
import { readOutlet } from '../../ledger/journal/outlets/outlet-book.ts';
import { actorText, changeOperation } from '../operation.ts';
import { idText, noteText } from '../schemas.ts';
import { requireStartedOutlet } from './started-outlet.ts';

const nameField = { name: idText.describe('the outlet') };

export const pauseOutlet = changeOperation({
  name: 'outlets.pause',
  summary: 'Stop sending to a billing system until it is resumed; waiting events stay in the ledger',
  role: 'operate',
  input: z.strictObject({ ...nameField, note: noteText.describe('the reason') }),
  output: z.strictObject({ name: z.string(), state: z.literal('paused'), reason: z.string() }),
  http: { method: 'POST', path: '/outlets/{name}/pause' },
  command: 'outlets pause',
  async run(scope, { name, note }) {
    const { context, actor } = scope;
    const before = requireStartedOutlet(scope, name);
    const writer = await context.existingWriter();
    const reason = `paused by ${actorText(actor)}: ${note}`;
    const isRepeated = before.paused === 'hand' && before.reason === reason;
    if (!isRepeated) await writer.pauseOutlet({ name, paused: 'hand', reason, nowMs: context.clock.now() });
    return { applied: true, document: { name, state: 'paused' as const, reason }, notes: [] };
  },
});

const PERHAPS = ['ask', 'taken', 'resend'] as const;

export const resumeOutlet = changeOperation({
  name: 'outlets.resume',
  summary: 'Resume sending to a billing system',
  role: 'operate',
  input: z.strictObject({
    ...nameField,
    perhaps: z
      .enum(PERHAPS)
      .default('ask')
      .describe(
        'what to do with events whose delivery is unknown: ask the receiver, count them as sent, or send them again',
      ),
  }),
  output: z.strictObject({
    name: z.string(),
    state: z.literal('sending'),
    perhaps: z.enum(PERHAPS).optional().describe('absent if the outlet was not paused'),
  }),
  http: { method: 'POST', path: '/outlets/{name}/resume' },
  command: 'outlets resume',
  async run(scope, { name, perhaps }) {
    const { context, connection } = scope;
    const before = requireStartedOutlet(scope, name);
    if (before.paused === null) {
      return { applied: true, document: { name, state: 'sending' as const }, notes: [`${name} is not paused`] };
    }
    const writer = await context.existingWriter();
    await writer.resumeOutlet({ name, perhaps, nowMs: context.clock.now() });
    const isUncertain = readOutlet(connection, name)?.flightTo != null;
    const notes = isUncertain ? ['events of unknown delivery are looked up in the receiver first'] : [];
    return { applied: true, document: { name, state: 'sending' as const, perhaps }, notes };
  },
});
