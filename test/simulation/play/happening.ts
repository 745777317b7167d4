import type { BillingFault } from '../world/billing.ts';
import type { SettingsKind } from '../world/configuration.ts';
import type { ServiceFault } from '../world/network.ts';
import type { ReceiverFault } from '../world/receiver.ts';
import type { DiskFault } from '../world/statements.ts';
import type { Step } from '../world/steps.ts';

/**
 * Something that happens to the world at `atMs` after its beginning, or from then on just when a process comes to a step for
 * the `nth` time. What has `forMs` ends by itself.
 */
export type Happening = { id: number; atMs: number; during: { step: Step; nth: number } | null } & (
  | { kind: 'service'; workspace: number; fault: ServiceFault; probability: number; forMs: number }
  | { kind: 'service_clock'; workspace: number; skewMs: number; forMs: number }
  | { kind: 'restate'; workspace: number; tenant: number; monthsAgo: number; credits: number }
  | { kind: 'forget'; workspace: number; tenant: number; monthsAgo: number; forMs: number; returns: boolean }
  /** The listing leaves a tenant out, whose own history is there. */
  | { kind: 'unlist'; workspace: number; tenant: number; forMs: number }
  | { kind: 'bulge'; workspace: number; tenant: number; times: number }
  | { kind: 'receiver'; receiver: number; fault: ReceiverFault; probability: number; forMs: number }
  | { kind: 'billing'; fault: BillingFault; probability: number; forMs: number }
  | { kind: 'clock'; stepMs: number; forMs: number }
  | { kind: 'disk'; fault: DiskFault; probability: number; forMs: number }
  | { kind: 'kill'; afterSteps: number; reboot: boolean }
  | { kind: 'stop'; downMs: number }
  | { kind: 'freeze'; forMs: number }
  | { kind: 'queue_lost' }
  | { kind: 'queue_away'; forMs: number }
  | { kind: 'lock_lost' }
  | { kind: 'configure'; settings: SettingsKind }
  /** Who copies, ends or resumes dies after `dies` statements, and who restores after `diesRestoring`, or does it twice. */
  | {
      kind: 'split';
      workspace: number;
      gapMs: number;
      resumed: boolean;
      dies: number | null;
      diesRestoring: number | null;
      disk: DiskFault | null;
      twice: boolean;
    }
  | { kind: 'command'; command: CommandKind; workspace: number; tenant: number; monthsAgo: number }
);
export type HappeningKind = Happening['kind'];

/** What people type. */
export const COMMANDS = [
  ...(['close', 'reopen', 'ack', 'silence', 'plan', 'sync', 'usage', 'status', 'replay'] as const),
  ...(['rates', 'names', 'statement'] as const),
  ...(['begin', 'push'] as const),
] as const;
export type CommandKind = (typeof COMMANDS)[number];
