import { createReadingsJudge, type ReadingsJudge } from './judge-readings.ts';
import type { JudgeSources } from './judge-sources.ts';
import { createTenantJudge, type TenantJudge } from './judge-tenant.ts';
import { createTotalJudge, type TotalJudge } from './judge-total.ts';

/** The pure rules with what they need from the ledger. */
export type Judge = TenantJudge & ReadingsJudge & TotalJudge;

export function createJudge(sources: JudgeSources): Judge {
  return { ...createTenantJudge(sources), ...createReadingsJudge(sources), ...createTotalJudge(sources) };
}
