import { z } from 'zod';
import type { OutletConfig } from '../../config/types.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { Forwarder } from '../../outlets/forwarder.ts';
import { readOutletStatuses } from '../../outlets/outlet-status.ts';
import { changeOperation, type Scope } from '../operation.ts';
import { idText } from '../schemas.ts';
import { chooseOutlets } from './chosen-outlets.ts';
import { withReceiver } from './started-outlet.ts';

export const pushOutlets = changeOperation({
  name: 'outlets.push',
  summary: 'Send waiting events now, as the daemon does on its own',
  role: 'finance',
  input: z.strictObject({ name: idText.optional().describe('only this outlet') }),
  output: z.strictObject({
    outlets: z.array(
      z.strictObject({
        name: z.string(),
        taken: z.int().describe('events that the receiver accepted'),
        fault: z.string().nullable(),
        reason: z.string().nullable().describe('why the outlet does not send'),
      }),
    ),
  }),
  http: { method: 'POST', path: '/outlets/push' },
  command: 'outlets push',
  async run(scope, { name }) {
    const outlets = [];
    for (const outlet of chooseOutlets(scope.context.config, name)) outlets.push(await push(scope, outlet));
    return { applied: true, document: { outlets }, notes: [] };
  },
});

/** Sends an outlet's events until no event is ready or the receiver rejects one. */
function push(scope: Scope, outlet: OutletConfig) {
  const { connection, context, signal } = scope;
  const { clock } = context;
  return withReceiver(scope, outlet, async (receiver) => {
    const writer = () => context.writer();
    const sweep = new Forwarder({ outlet, receiver, ledgerId: ledgerId(connection), connection, writer, clock });
    let taken = 0;
    let fault: string | null = null;
    for (const step of [() => sweep.step(signal), () => sweep.stepHeld(signal)]) {
      let more = fault === null;
      while (more) {
        const report = await step();
        signal.throwIfAborted();
        taken += report.taken;
        fault = report.fault?.answer ?? fault;
        more = report.more && report.fault === null;
      }
    }
    const [standing] = readOutletStatuses(connection, [outlet]);
    return { name: outlet.name, taken, fault, reason: standing?.reason ?? null };
  });
}
