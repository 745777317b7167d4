import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from '../../commands/world.ts';
import { SECRET, WebhookReceiver } from '../../outlets/webhook-receiver.ts';
import type { ChangeCase } from './change-case.ts';

/** Points the outlet to a receiver that takes every event but those of acme. */
async function withReceiver(world: World): Promise<void> {
  const receiver = await new WebhookReceiver().start();
  receiver.refuses = ({ subject }) => subject === 'acme';
  const file = join(world.folder, 'usage-ledger.yml');
  const settings = readFileSync(file, 'utf8');
  const start = settings.indexOf('outlets:');
  const outlet = { name: 'billing', type: 'webhook', url: receiver.url, allow_private: true, secret: SECRET };
  writeFileSync(file, `${settings.slice(0, start)}outlets: ${JSON.stringify([outlet])}\n`);
}

async function started(world: World): Promise<void> {
  await withReceiver(world);
  await world.run('outlets', 'start', 'billing', '--from', '2026-02', '--yes');
}

async function paused(world: World): Promise<void> {
  await started(world);
  await world.run('outlets', 'pause', 'billing', '--note', 'price change');
}

async function pushed(world: World): Promise<void> {
  await started(world);
  await world.run('outlets', 'push');
}

export const CHANGES_OF_OUTLETS: Readonly<Record<string, ChangeCase>> = {
  'outlets.start': {
    given: withReceiver,
    input: () => ({ name: 'billing', from: '2026-02', dry_run: false }),
    argv: () => ['outlets', 'start', 'billing', '--from', '2026-02', '--yes'],
    actors: 'SELECT begun_by FROM outlets',
  },
  'outlets.push': {
    given: started,
    input: () => ({ name: 'billing' }),
    argv: () => ['outlets', 'push', 'billing'],
    actors: null,
    withoutBy: true,
    // The second time, no event is left.
    changesWhenRepeated: true,
  },
  'outlets.pause': {
    given: started,
    input: () => ({ name: 'billing', note: 'price change' }),
    argv: () => ['outlets', 'pause', 'billing', '--note', 'price change'],
    actors: 'SELECT reason FROM outlets',
  },
  'outlets.resume': {
    given: paused,
    input: () => ({ name: 'billing' }),
    argv: () => ['outlets', 'resume', 'billing'],
    actors: null,
    withoutBy: true,
    // The second time, it is not paused.
    changesWhenRepeated: true,
  },
  'outlets.settle': {
    given: pushed,
    input: () => ({ name: 'billing', tenant: 'acme', note: 'credit note 12' }),
    argv: () => ['outlets', 'settle', 'billing', '--tenant', 'acme', '--note', 'credit note 12'],
    actors: 'SELECT settled_by FROM finance_outlet_events',
    // The second time, no event is left.
    changesWhenRepeated: true,
  },
};
