import { BILLING_FAULTS } from '../world/billing.ts';
import { SERVICE_FAULTS } from '../world/network.ts';
import { RECEIVER_FAULTS } from '../world/receiver.ts';
import { DISK_FAULTS } from '../world/statements.ts';
import { STEPS } from '../world/steps.ts';
import type { World } from '../world/world.ts';
import { HAPPENINGS, NOT_IN_WEEKS } from './draw-happenings.ts';
import { COMMANDS } from './happening.ts';

/** Every kind of thing that must have happened for a simulation to count, of worlds of weeks or of others. */
export function everyKind(inWeeks: boolean): string[] {
  return [
    ...HAPPENINGS.filter((kind) => !inWeeks || !NOT_IN_WEEKS.includes(kind)).map((kind) => `happening ${kind}`),
    ...SERVICE_FAULTS.map((fault) => `service ${fault}`),
    ...RECEIVER_FAULTS.map((fault) => `receiver ${fault}`),
    ...BILLING_FAULTS.map((fault) => `billing ${fault}`),
    ...DISK_FAULTS.map((fault) => `disk ${fault}`),
    ...STEPS.map((step) => `in the middle of a ${step}`),
    ...COMMANDS.map((command) => `command ${command}`),
    'run applied',
    'message told',
    'entry billed',
    'death in the middle of something',
    'month rolled',
    'machine split',
    'workspace resumed',
  ];
}

/** What services, receivers and disks have done, and how often. */
export function faultsMet({ network, receivers, billing, everyHost }: World): { fault: string; count: number }[] {
  const met = [
    ['service', network.met] as const,
    ['billing', billing.met] as const,
    ...receivers.map((receiver) => ['receiver', receiver.met] as const),
    ...everyHost.map((host) => ['disk', host.met] as const),
  ];
  return met.flatMap(([who, faults]) => [...faults].map(([fault, count]) => ({ fault: `${who} ${fault}`, count })));
}
