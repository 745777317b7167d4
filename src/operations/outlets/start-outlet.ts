import { z } from 'zod';
import { InputError, UsageError } from '../../core/errors.ts';
import { readOutlet } from '../../ledger/journal/outlets/outlet-book.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { receiverKind } from '../../outlets/forwarder.ts';
import { previewStart } from '../../outlets/preview.ts';
import { actorText, changeOperation } from '../operation.ts';
import { exactInteger, idText, periodText, previewField } from '../schemas.ts';
import { chooseOutlet } from './chosen-outlets.ts';
import { withReceiver } from './started-outlet.ts';

const count = z.int();

export const startOutlet = changeOperation({
  name: 'outlets.start',
  summary: 'Start sending usage to a billing system, from a month on',
  role: 'finance',
  input: z.strictObject({
    name: idText.describe('the outlet'),
    from: periodText.optional().describe('the first month to send; `from_period` of the outlet if it is missing'),
    ...previewField,
  }),
  output: z.strictObject({
    name: z.string(),
    started: z.boolean(),
    from_period: periodText,
    months: z.array(
      z.strictObject({
        period: periodText,
        events: count,
        credits: exactInteger.optional().describe('for an outlet that sends credits'),
        requests: exactInteger.optional().describe('for an outlet that sends requests'),
        held: count,
        late: count,
      }),
    ),
    tenants_without_name: z
      .array(z.strictObject({ workspace_id: z.string(), tenant_id: z.string() }))
      .describe('tenants without a name in the receiver: their events are held'),
  }),
  http: { method: 'POST', path: '/outlets/{name}/start' },
  command: 'outlets start',
  async run(scope, { name, from, dry_run: dryRun }) {
    const { context, connection } = scope;
    const outlet = chooseOutlet(context.config, name);
    const fromPeriod = from ?? outlet.fromPeriod;
    if (fromPeriod === null) {
      throw new InputError(
        () => 'no first month',
        (nameOf) => `add ${nameOf('from')} YYYY-MM, or set \`from_period:\``,
      );
    }
    const before = readOutlet(connection, name);
    if (before !== undefined && before.receiver !== receiverKind(outlet)) {
      throw new UsageError(
        `${name} was started with receiver ${before.receiver}`,
        'use another name for another receiver',
      );
    }
    const { workspaces } = outlet;
    const nowMs = context.clock.now();
    const sent = { ledgerId: ledgerId(connection), fromPeriod, workspaces };
    const preview = await withReceiver(scope, outlet, async (receiver) => {
      await receiver.probe(scope.signal);
      return previewStart(connection, { outlet, scope: sent, before, limits: receiver.limits }, nowMs);
    });
    if (!dryRun) {
      const by = actorText(scope.actor);
      const request = { name, receiver: receiverKind(outlet), workspaces, fromPeriod, by, nowMs };
      await (await context.existingWriter()).startOutlet(request);
    }
    const document = {
      name,
      started: !dryRun,
      from_period: fromPeriod,
      months: preview.months.map(({ quantity, ...month }) =>
        outlet.send === 'credits' ? { ...month, credits: quantity } : { ...month, requests: quantity },
      ),
      tenants_without_name: preview.unmapped.map(({ workspaceId, tenantId }) => {
        return { workspace_id: workspaceId, tenant_id: tenantId };
      }),
    };
    return { applied: !dryRun, document, notes: [] };
  },
});
