import type { AlertThresholds } from '../../config/types.ts';
import { ceilProduct, decimalFraction } from './fraction.ts';

/** Stored with each alert; raised whenever the same figures could give another answer than before. */
export const JUMP_RULE_VERSION = 1;

/** What a tenant used in one period. */
export interface UsageFigures {
  credits: bigint;
  requests: bigint;
}

/**
 * `certain`: the credits used so far are over the threshold, and whatever is still missing can only add to them.
 * `final`: the period is over and its figures have settled.
 */
export type JumpStage = 'certain' | 'final';

export interface JumpInput {
  current: UsageFigures;
  /** The period just before; null when the tenant has no record of it. */
  previous: UsageFigures | null;
  /** The previous period is the first that the workspace ever had, and so likely a partial one. */
  previousIsFirstEver: boolean;
  periodOver: boolean;
  /** The figures of a period that is over are not expected to change any more. */
  settled: boolean;
  thresholds: AlertThresholds;
}

export interface JumpFinding {
  stage: JumpStage;
  severity: 'critical';
  /** Credits; the current credits are at or above it. */
  threshold: bigint;
}

/**
 * The credits from which on a period is a jump: `max(ratio * previous, previous + minCredits)`, rounded up to a whole
 * credit and exact at any size. Raises `bad_threshold` for thresholds that are not finite or are below zero.
 */
export function jumpThreshold(previous: bigint, thresholds: AlertThresholds): bigint {
  const byRatio = ceilProduct(decimalFraction(thresholds.ratio, 'alerts.ratio'), previous);
  const byFloor = previous + ceilProduct(decimalFraction(thresholds.minCredits, 'alerts.min_credits'), 1n);
  return byRatio > byFloor ? byRatio : byFloor;
}

/**
 * Tells whether a tenant's credits jumped against the period before. Null without a previous period to compare with:
 * none at all, nothing used in it, or a first-ever one whose low figure would make any normal month look like a jump.
 */
export function evaluateJump(input: JumpInput): JumpFinding | null {
  const { current, previous, thresholds } = input;
  if (previous === null || previous.credits <= 0n || input.previousIsFirstEver) return null;
  const threshold = jumpThreshold(previous.credits, thresholds);
  // A ratio of 1 or less without a floor puts the threshold at or below the previous credits; no growth is no jump.
  if (current.credits < threshold || current.credits <= previous.credits) return null;
  return { stage: input.periodOver && input.settled ? 'final' : 'certain', severity: 'critical', threshold };
}

/**
 * True when the cause of a firing jump is gone: credits below nine tenths of the threshold, no growth at all, or nothing
 * left to compare with. Between that and the threshold nothing changes, so that figures wavering around it do not fire
 * and resolve by turns.
 */
export function jumpCleared(current: bigint, previous: bigint, thresholds: AlertThresholds): boolean {
  return previous <= 0n || current <= previous || current * 10n < jumpThreshold(previous, thresholds) * 9n;
}
