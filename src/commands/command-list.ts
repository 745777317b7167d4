import type { Command } from 'commander';
import type { StartedThread } from '../writer/start-thread.ts';
import type { CliContext } from './shared/cli-context.ts';

/** A command as `--help` shows it. Its code is loaded when it is called: see "Loading" in docs/architecture.md. */
export interface CommandEntry {
  name: string;
  takes: string;
  description: string;
  /** It writes to the ledger whenever it does its work. */
  writes?: true;
  load: () => Promise<(cli: CliContext) => Command>;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'init',
    takes: '[options]',
    description: 'Write usage-ledger.yml, .env.example and ecosystem.config.cjs into this folder. Overwrites nothing.',
    load: async () => (await import('./init.ts')).initCommand,
  },
  {
    name: 'demo',
    takes: '[options]',
    description: 'See the whole job in seconds, against a sandbox: two runs, a jump, the alert, a statement.',
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
    description: 'Have the daemon read its configuration and secrets again, without a restart.',
    load: async () => (await import('./daemon.ts')).reloadCommand,
  },
  {
    name: 'open',
    takes: '[options]',
    description: "Print the link to the daemon's pages. It holds their token.",
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
    description: 'Show how fresh each workspace is, its last run, open alerts, waiting notifications and the queue.',
    load: async () => (await import('./status/status.ts')).statusCommand,
  },
  {
    name: 'doctor',
    takes: '[options]',
    description: 'Check everything that the daemon needs, with remedies. Exit code 4: something fails.',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
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
    description: "Show one tenant's figures and how they came to be.",
    load: async () => (await import('./finance/tenant.ts')).tenantCommand,
  },
  {
    name: 'month-end',
    takes: '[options] <period>',
    description: 'Show what stands in the way of closing a month. Exit code 4: something does. Changes nothing.',
    load: async () => (await import('./finance/month-end.ts')).monthEndCommand,
  },
  {
    name: 'close',
    takes: '[options] <period>',
    description: 'Freeze the figures of a period. Later changes become adjustments of a later period.',
    load: async () => (await import('./finance/close.ts')).closeCommand,
  },
  {
    name: 'reopen',
    takes: '[options] <period>',
    description: 'Open a closed period again. Its adjustments are taken back.',
    load: async () => (await import('./finance/close.ts')).reopenCommand,
  },
  {
    name: 'statement',
    takes: '[options] <period>',
    description: 'Show what each tenant is to pay for a period; of a closed one with a proof.',
    load: async () => (await import('./finance/statement/statement.ts')).statementCommand,
  },
  {
    name: 'export',
    takes: '[options] <view...>',
    description: 'Write views of the ledger, or a FOCUS file of a period, for other tools.',
    load: async () => (await import('./finance/export.ts')).exportCommand,
  },
  {
    name: 'report',
    takes: '[options]',
    description: 'Write a page with charts: one HTML file that fetches nothing.',
    load: async () => (await import('./finance/report.ts')).reportCommand,
  },
  {
    name: 'rates',
    takes: '',
    description: 'Put rate cards into force, list them, and try others.',
    load: async () => (await import('./finance/rates.ts')).ratesCommand,
  },
  {
    name: 'lines',
    takes: '',
    description: 'Add amounts by hand to what a tenant is to pay, such as credit notes and fees; list and revoke them.',
    load: async () => (await import('./finance/lines.ts')).linesCommand,
  },
  {
    name: 'tenants',
    takes: '',
    description: 'Give tenants names, references and labels, and list them.',
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
    description: 'Look at alerts, mute them and try other settings. Without a subcommand: list the open ones.',
    load: async () => (await import('./alerts/alerts.ts')).alertsCommand,
  },
  {
    name: 'verify',
    takes: '[options] [file]',
    description: 'Check the ledger and its digest chain. Exit code 4: something is wrong.',
    load: async () => (await import('./ledger/verify.ts')).verifyCommand,
  },
  {
    name: 'backup',
    takes: '[options] <file>',
    description: 'Write a checked copy of the ledger, also while the daemon runs.',
    load: async () => (await import('./ledger/backup.ts')).backupCommand,
  },
  {
    name: 'restore',
    takes: '[options] <file>',
    description: 'Check a backup and put it in the place of the ledger, which is kept. Stop the daemon first.',
    load: async () => (await import('./ledger/backup.ts')).restoreCommand,
  },
  {
    name: 'publish',
    takes: '[options]',
    description: 'Send what is new to the copy in Postgres, as the daemon does after each run.',
    load: async () => (await import('./ledger/publish.ts')).publishCommand,
  },
  {
    name: 'outlets',
    takes: '',
    description: 'Send usage on to billing systems, and compare what they have.',
    load: async () => (await import('./outlets/outlets.ts')).outletsCommand,
  },
  {
    name: 'workspace',
    takes: '',
    description: 'Say that this ledger no longer reads a workspace, or reads it again.',
    load: async () => (await import('./ledger/workspace.ts')).workspaceCommand,
  },
  {
    name: 'dashboard',
    takes: '',
    description: 'Work with dashboards of the service.',
    load: async () => (await import('./service/dashboard.ts')).dashboardCommand,
  },
  {
    name: 'embed-token',
    takes: '[options]',
    description: 'Generate a token that shows an embedded dashboard for a time. The token is a secret.',
    load: async () => (await import('./service/dashboard.ts')).embedTokenCommand,
  },
  {
    name: 'sandbox',
    takes: '[options]',
    description: 'Run a stand-in for the service until Ctrl-C. Prints the configuration that reads from it.',
    load: async () => (await import('./service/sandbox.ts')).sandboxCommand,
  },
  {
    name: 'migrate',
    takes: '[options]',
    description: 'Bring the ledger to the schema of this version, or create it; the daemon does so by itself.',
    writes: true,
    load: async () => (await import('./ledger/backup.ts')).migrateCommand,
  },
];

/** For a command that writes, the writer's thread loads its code while this one loads the command and the configuration. */
export async function startThreadFor(argv: readonly string[]): Promise<StartedThread | undefined> {
  if (!COMMANDS.some(({ name, writes }) => writes && argv.includes(name))) return undefined;
  const { startThread } = await import('../writer/start-thread.ts');
  try {
    return startThread();
  } catch {
    // The system has no thread to give: the command says so when it needs one.
    return undefined;
  }
}
