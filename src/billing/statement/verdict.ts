/** Whether a statement agrees with itself, or what in it does not. */
export type StatementVerdict =
  | {
      agrees: true;
      workspaceId: string;
      period: string;
      closedAt: string;
      /** Nothing says that the statement is authentic until this is the digest of a close that was kept elsewhere. */
      closeDigest: string;
      tenants: number;
      /** Null: the statement was made for its tenant, and does not say. */
      tenantsInPeriod: number | null;
    }
  | { agrees: false; reason: string };

export function refuse(reason: string): StatementVerdict {
  return { agrees: false, reason };
}
