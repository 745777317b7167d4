import { medianOf } from './median.ts';
import { type RangeCounts, rangesOf, type Scorecard, type Share } from './scorecard.ts';

/** The bars of alerts worth waking up for, for years like the field's added up. */
export const TARGETS = {
  likelyTrue: 0.85,
  rangesHeld: { from: 0.75, to: 0.9 },
  leadDays: 10,
  messagesADay: 0.25,
  messagesAboutIntermittent: 6,
  immaterialCritical: 0.1,
  openAlerts: 15,
};

/** Tenants notified for nothing during a shared cause and the week after, as a share of all tenants. */
const FALSE_DURING_CAUSE = 0.07;
/** Tenants with a message of their own among those that rose as the workspace did. */
const COMMON_SENT = 0.1;

/** Returns the targets that years like the field's miss, one sentence each. */
export function missedTargets(card: Scorecard): string[] {
  const { likely, leadDays, immaterialCritical, mostIntermittent, openAlerts } = card;
  const messagesADay = card.messages / card.tenantDays;
  return [
    ...missedInAnyWorld(card),
    bar(partOf(likely) >= TARGETS.likelyTrue, `${shareOf(likely)} likely came true`),
    ...rangeFaults('likely', rangesOf(card, 'likely')),
    ...rangeFaults('happened', rangesOf(card, 'happened')),
    ...rangeFaults("intermittent tenants'", rangesOf(card, null, ['intermittent'])),
    bar(
      (medianOf(leadDays) ?? TARGETS.leadDays) >= TARGETS.leadDays,
      `the median lead is ${medianOf(leadDays)?.toFixed(1)} days`,
    ),
    bar(messagesADay <= TARGETS.messagesADay, `${messagesADay.toFixed(3)} messages a day and 100 tenants`),
    bar(
      mostIntermittent.messages <= TARGETS.messagesAboutIntermittent,
      `${mostIntermittent.messages} messages about ${mostIntermittent.tenant}`,
    ),
    bar(
      partOf(immaterialCritical, 0) <= TARGETS.immaterialCritical,
      `${shareOf(immaterialCritical)} critical messages were immaterial`,
    ),
    bar(card.notCritical.hits === 0, `${shareOf(card.notCritical)} material rises were not critical`),
    bar((openAlerts ?? 0) <= TARGETS.openAlerts, `${openAlerts} alerts are open at the end`),
  ].filter((each) => each !== null);
}

/** Returns the targets that a short world with one shared cause misses. `tenants` leaves out those on a free plan. */
export function missedWithCause(card: Scorecard, { tenants, days }: { tenants: number; days: number }): string[] {
  const { duringCauses, commonSent, workspaceJumps, freeMessages } = card;
  const falseOnes = duringCauses.of - duringCauses.hits;
  return [
    ...missedInAnyWorld(card),
    bar(falseOnes <= FALSE_DURING_CAUSE * tenants, `${falseOnes} of ${tenants} tenants were notified for nothing`),
    bar(partOf(commonSent, 0) <= COMMON_SENT, `${shareOf(commonSent)} tenants were sent beside a workspace jump`),
    bar(workspaceJumps.hits === workspaceJumps.of, `${shareOf(workspaceJumps)} workspace jumps came true`),
    bar(freeMessages <= days, `${freeMessages} messages about free tenants in ${days} days`),
  ].filter((each) => each !== null);
}

/** What must hold in every world, however small. */
function missedInAnyWorld({ requiredJumps, materialNewSpend, unsentWorkspaceJumps }: Scorecard): (string | null)[] {
  return [
    bar(requiredJumps.hits === requiredJumps.of, `${shareOf(requiredJumps)} required jumps were sent`),
    bar(materialNewSpend.hits === materialNewSpend.of, `${shareOf(materialNewSpend)} material new spend was sent`),
    bar(unsentWorkspaceJumps === 0, `${unsentWorkspaceJumps} workspace jumps were not sent`),
  ];
}

function rangeFaults(name: string, counts: RangeCounts): (string | null)[] {
  const of = counts.held + counts.below + counts.above;
  const held = { hits: counts.held, of };
  const { from, to } = TARGETS.rangesHeld;
  const part = partOf(held, from);
  return [bar(part >= from && part <= to, `${shareOf(held)} ${name} ranges held`)];
}

function bar(isMet: boolean, fault: string): string | null {
  return isMet ? null : fault;
}

function partOf({ hits, of }: Share, empty = 1): number {
  return of === 0 ? empty : hits / of;
}

function shareOf({ hits, of }: Share): string {
  return `${hits} of ${of}`;
}
