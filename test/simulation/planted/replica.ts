import type { Planted } from './planted.ts';

/** What is wrong with what lies in Postgres, or with what is said of it. */
export const REPLICA: readonly Planted[] = [
  {
    name: 'half-published',
    harm: 'who reads in Postgres sees runs without their figures, until the rest of the publication comes',
    edits: [
      {
        file: 'src/publish/send/publish-ledger.ts',
        from: '  await sendRuns(sender, order, held, local);\n',
        to: `  await sendRuns(sender, order, held, local);
  await order.client.query('COMMIT');
  await order.client.query('BEGIN; SET LOCAL search_path TO world');
`,
      },
    ],
  },
  {
    name: 'late-for-ever',
    harm: 'who was told that the replica is late never hears that it is not, when the daemon that said so has died',
    edits: [
      {
        file: 'src/daemon/replica/replica-watch.ts',
        from: '#wasTold: boolean | null = null;',
        to: '#wasTold: boolean | null = false;',
      },
    ],
  },
  {
    name: 'late-by-a-clock-alone',
    harm: 'a daemon that was frozen says that nothing was published, although the other one has published all the time',
    edits: [
      {
        file: 'src/daemon/replica/replica-watch.ts',
        from: 'const stale = fenced || (this.#isLate && this.#failedLate);',
        to: 'const stale = fenced || this.#isLate;',
      },
    ],
  },
];
