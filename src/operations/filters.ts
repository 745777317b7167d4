import { idText, periodText } from './schemas.ts';

/** Filters that several operations share. */
export const WORKSPACE_FILTER = { workspace: idText.optional().describe('only this workspace') };
export const TENANT_FILTER = { tenant: idText.optional().describe('only this tenant') };
export const PERIOD_FILTERS = {
  period: periodText.optional().describe('only this month'),
  from: periodText.optional().describe('the first month'),
  to: periodText.optional().describe('the last month'),
};
