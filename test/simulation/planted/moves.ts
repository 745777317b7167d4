import type { Planted } from './planted.ts';

/** What is wrong once a workspace has moved to another ledger. */
export const MOVES: readonly Planted[] = [
  {
    name: 'moved-and-read',
    harm: 'a workspace that was exported goes on being read by the ledger that it has left',
    edits: [
      {
        file: 'src/ledger/journal/runs/claim-run.ts',
        from: '  requireHere(connection, workspaceKey);\n',
        to: '',
      },
      {
        file: 'src/daemon/job-handlers.ts',
        from: 'if (movedAway(context.reader().connection).includes(workspaceId)) {',
        to: "if (movedAway(context.reader().connection).includes('')) {",
      },
    ],
  },
  {
    name: 'moved-and-told',
    harm: 'the ledger that a workspace has left goes on telling of its alerts',
    edits: [
      {
        file: 'src/alerts/book/ask.ts',
        from: "movedAwaySql('alerts.workspace_key')",
        to: "movedAwaySql('-1')",
      },
    ],
  },
  {
    name: 'moved-and-told-anew',
    harm: 'what a receiver knows of a workspace is told again by the ledger that takes it in',
    edits: [
      {
        file: 'src/ledger/transfer/moving/copy-history.ts',
        from: "    { table: 'alert_told', rows: withMoved('alert_key') },\n",
        to: '',
      },
      {
        file: 'src/ledger/transfer/moving/copy-history.ts',
        from: '  runNamed(connection, COUNT_AS_TOLD, keys);\n',
        to: '',
      },
    ],
  },
  {
    name: 'moved-and-stale',
    harm: 'a workspace that was exported counts as stale in the ledger that it has left',
    edits: [
      {
        file: 'src/daemon/state/staleness.ts',
        from: 'if (facts.movedAway || Math.min(',
        to: 'if (Math.min(',
      },
    ],
  },
  {
    name: 'imported-in-parts',
    harm: 'an import that is broken off leaves a part of the workspace behind',
    edits: [
      {
        file: 'src/ledger/transfer/moving/import-workspace.ts',
        from: 'return connection.transaction(() => bringIn(order, origin)).immediate();',
        to: 'return bringIn(order, origin);',
      },
    ],
  },
  {
    name: 'never-imported',
    harm: 'a workspace with an open month cannot be taken in',
    edits: [
      {
        file: 'src/ledger/transfer/moving/import-workspace.ts',
        from: 'for (const { periodKey } of open) price(connection, periodKey);',
        to: 'for (const { periodKey } of open.slice(1)) price(connection, periodKey);',
      },
    ],
  },
  {
    name: 'overtaken-and-told',
    harm: 'a run that fails after its workspace was exported has the ledger that gave it away tell of it',
    edits: [
      {
        file: 'src/writer/commands/run-commands.ts',
        from: 'if (fault === null || !isOwn) return',
        to: 'if (fault === null) return',
      },
    ],
  },
];
