import { SERVICE_FAULTS } from '../world/network.ts';
import { RECEIVER_FAULTS } from '../world/receiver.ts';
import { DISK_FAULTS } from '../world/statements.ts';
import { STEPS } from '../world/steps.ts';
import { HAPPENINGS } from './draw-happenings.ts';
import { COMMANDS } from './happening.ts';

/** Every kind of thing that must have happened for a simulation to count. */
export function everyKind(): string[] {
  return [
    ...HAPPENINGS.map((kind) => `happening ${kind}`),
    ...SERVICE_FAULTS.map((fault) => `service ${fault}`),
    ...RECEIVER_FAULTS.map((fault) => `receiver ${fault}`),
    ...DISK_FAULTS.map((fault) => `disk ${fault}`),
    ...STEPS.map((step) => `in the middle of a ${step}`),
    ...COMMANDS.map((command) => `command ${command}`),
    'run applied',
    'message told',
    'death in the middle of something',
    'month rolled',
  ];
}
