import type { Command } from 'commander';
import type { StartedThread } from '../writer/start-thread.ts';
import type { CliContext } from './shared/cli-context.ts';

/**
 * A command as `--help` lists it. Its code is loaded only when the command is used: see "Loading" in
 * docs/architecture.md.
 */
export interface CommandEntry {
  name: string;
  takes: string;
  description: string;
  /** True when the command always writes to the ledger. */
  writes?: true;
  load: () => Promise<(cli: CliContext) => Command>;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'init',
    takes: '[options]',
    description: 'Write usage-ledger.yml, .env.example and ecosystem.config.cjs to this folder. Overwrites nothing.',
    load: async () => (await import('./init.ts')).initCommand,
  },
  {
    name: 'demo',
    takes: '[options]',
    description: 'Show the product in seconds, against a sandbox: two runs, a jump, its alert and a statement.',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  {
    name: 'daemon',
    takes: '[options]',
    description: 'Run scheduler and workers in the foreground until SIGINT or SIGTERM; pm2 runs this.',
    writes: true,
    load: async () => (await import('./daemon.ts')).daemonCommand,
  },
  {
    name: 'reload',
    takes: '[options]',
    description: 'Make the daemon read its configuration and secrets again, without a restart.',
    load: async () => (await import('./daemon.ts')).reloadCommand,
  },
  {
    name: 'open',
    takes: '[options]',
    description: "Print the link to the daemon's pages. It contains their token.",
    load: async () => (await import('./daemon.ts')).openCommand,
  },
  {
    name: 'sync',
    takes: '[options]',
    description: 'Sync each workspace now, in this process and without Redis.',
    writes: true,
    load: async () => (await import('./sync.ts')).syncCommand,
  },
  {
    name: 'status',
    takes: '[options]',
    description: 'Show the freshness and last run of each workspace, open alerts, waiting notifications and the queue.',
    load: async () => (await import('./status/status.ts')).statusCommand,
  },
  {
    name: 'doctor',
    takes: '[options]',
    description: 'Check everything that the daemon needs, with remedies. Exit code 4: a check failed.',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    name: 'usage',
    takes: '[options]',
    description: 'Show credits and requests by tenant and period.',
    load: async () => (await import('./finance/usage.ts')).usageCommand,
  },
  {
    name: 'tenant',
    takes: '[options] <tenant>',
    description: "Show one tenant's figures and their history.",
    load: async () => (await import('./finance/tenant.ts')).tenantCommand,
  },
  {
    name: 'month-end',
    takes: '[options] <period>',
    description: 'Show what blocks closing a month. Exit code 4: something does. Changes nothing.',
    load: async () => (await import('./finance/month-end.ts')).monthEndCommand,
  },
  {
    name: 'close',
    takes: '[options] <period>',
    description: 'Freeze the figures of a period. Later changes become adjustments in a later period.',
    load: async () => (await import('./finance/close.ts')).closeCommand,
  },
  {
    name: 'reopen',
    takes: '[options] <period>',
    description: 'Reopen a closed period. Its adjustments are reversed.',
    load: async () => (await import('./finance/close.ts')).reopenCommand,
  },
  {
    name: 'statement',
    takes: '[options] <period>',
    description: 'Show the amount due from each tenant for a period; for a closed period, with a proof.',
    load: async () => (await import('./finance/statement/statement.ts')).statementCommand,
  },
  {
    name: 'export',
    takes: '[options] <view...>',
    description: 'Export views of the ledger, or a FOCUS file of a period, for other tools.',
    load: async () => (await import('./finance/export.ts')).exportCommand,
  },
  {
    name: 'report',
    takes: '[options]',
    description: 'Write a report with charts as one self-contained HTML file.',
    load: async () => (await import('./finance/report.ts')).reportCommand,
  },
  {
    name: 'rates',
    takes: '',
    description: 'Apply rate cards, list them, and preview others.',
    load: async () => (await import('./finance/rates.ts')).ratesCommand,
  },
  {
    name: 'lines',
    takes: '',
    description: "Add, list and revoke manual lines in tenants' charges, such as credit notes and fees.",
    load: async () => (await import('./finance/lines.ts')).linesCommand,
  },
  {
    name: 'tenants',
    takes: '',
    description: 'Import and list the names, references and labels of tenants.',
    load: async () => (await import('./finance/tenants.ts')).tenantsCommand,
  },
  {
    name: 'reconcile',
    takes: '[options] <file>',
    description: 'Compare ledger and service with an invoice export. Exit code 4: they differ.',
    load: async () => (await import('./finance/reconcile.ts')).reconcileCommand,
  },
  {
    name: 'alerts',
    takes: '',
    description: 'List, inspect and mute alerts, and test other settings. Without a subcommand: list open alerts.',
    load: async () => (await import('./alerts/alerts.ts')).alertsCommand,
  },
  {
    name: 'verify',
    takes: '[options] [file]',
    description: 'Verify the ledger and its digest chain. Exit code 4: a fault was found.',
    load: async () => (await import('./ledger/verify.ts')).verifyCommand,
  },
  {
    name: 'backup',
    takes: '[options] <file>',
    description: 'Write a verified copy of the ledger, also while the daemon runs.',
    load: async () => (await import('./ledger/backup.ts')).backupCommand,
  },
  {
    name: 'restore',
    takes: '[options] <file>',
    description: 'Verify a backup and replace the ledger with it; the old ledger is kept. Stop the daemon first.',
    load: async () => (await import('./ledger/restore.ts')).restoreCommand,
  },
  {
    name: 'publish',
    takes: '[options]',
    description: 'Send new rows to the copy in Postgres, as the daemon does after each run.',
    load: async () => (await import('./ledger/publish.ts')).publishCommand,
  },
  {
    name: 'outlets',
    takes: '',
    description: 'Send usage to billing systems, and compare their records.',
    load: async () => (await import('./outlets/outlets.ts')).outletsCommand,
  },
  {
    name: 'workspace',
    takes: '',
    description: 'Stop reading a workspace, or resume reading it.',
    load: async () => (await import('./ledger/workspace.ts')).workspaceCommand,
  },
  {
    name: 'dashboard',
    takes: '',
    description: 'Create dashboards in the service.',
    load: async () => (await import('./service/dashboard.ts')).dashboardCommand,
  },
  {
    name: 'embed-token',
    takes: '[options]',
    description: 'Generate a temporary token for an embedded dashboard. The token is a secret.',
    load: async () => (await import('./service/dashboard.ts')).embedTokenCommand,
  },
  {
    name: 'sandbox',
    takes: '[options]',
    description: 'Run a simulated service until Ctrl-C. Prints a configuration for it.',
    load: async () => (await import('./service/sandbox.ts')).sandboxCommand,
  },
  {
    name: 'mcp',
    takes: '[options]',
    description: 'Serve the operations that read to an assistant, over stdin and stdout (Model Context Protocol).',
    load: async () => (await import('./service/mcp.ts')).mcpCommand,
  },
  {
    name: 'migrate',
    takes: '[options]',
    description: 'Create the ledger, or migrate it to the current schema. The daemon does this at its start.',
    writes: true,
    load: async () => (await import('./ledger/migrate.ts')).migrateCommand,
  },
];

/**
 * Starts the writer thread early for a command that writes. The thread then loads its code while this thread loads the
 * command.
 */
export async function startThreadFor(argv: readonly string[]): Promise<StartedThread | undefined> {
  if (!COMMANDS.some(({ name, writes }) => writes && argv.includes(name))) return undefined;
  const { startThread } = await import('../writer/start-thread.ts');
  try {
    return startThread();
  } catch {
    // If the thread cannot be started, the command reports it when it needs the thread.
    return undefined;
  }
}
