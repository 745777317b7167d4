/** What a tenant, or a workspace in total, used in one period. */
export interface UsageFigures {
  credits: bigint;
  requests: bigint;
}

export const NO_USAGE: UsageFigures = { credits: 0n, requests: 0n };

/** Figures that are stored side by side; null where one is not. */
export function pair(credits: bigint | null, requests: bigint | null): UsageFigures | null {
  return credits === null || requests === null ? null : { credits, requests };
}
