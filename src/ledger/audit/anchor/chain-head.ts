import type { LedgerConnection } from '../../store/file/open.ts';

/** The digest of the last link of the chain, be it a run or a close; empty while there is none. */
export function chainHead(connection: LedgerConnection): string {
  const digest = connection
    .prepare(
      `SELECT digest FROM (
         SELECT * FROM (SELECT applied_seq AS seq, digest FROM runs WHERE applied_seq IS NOT NULL ORDER BY applied_seq DESC LIMIT 1)
         UNION ALL
         SELECT * FROM (SELECT event_seq, digest FROM period_events ORDER BY event_seq DESC LIMIT 1))
       ORDER BY seq DESC LIMIT 1`,
    )
    .pluck()
    .get() as string | undefined;
  return digest ?? '';
}
