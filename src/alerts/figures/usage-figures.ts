/** Usage of a tenant, or of a whole workspace, in one period. */
export interface UsageFigures {
  credits: bigint;
  requests: bigint;
}

export const NO_USAGE: UsageFigures = { credits: 0n, requests: 0n };

/** Combines a credits column and a requests column; null if one of them is null. */
export function toUsageFigures(credits: bigint | null, requests: bigint | null): UsageFigures | null {
  return credits === null || requests === null ? null : { credits, requests };
}
