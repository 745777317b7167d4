import type { Command } from 'commander';
import type { CliContext } from './shared/cli-context.ts';

/** A command as `--help` shows it. Its own code is loaded when it is called only. */
export interface CommandEntry {
  name: string;
  /** What stands behind the name: options and arguments. */
  takes: string;
  description: string;
  load: () => Promise<(cli: CliContext) => Command>;
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'init',
    takes: '[options]',
    description:
      'Write a commented usage-ledger.yml, .env.example and what to run it by into this folder; nothing is overwritten.',
    load: async () => (await import('./init.ts')).initCommand,
  },
  {
    name: 'demo',
    takes: '[options]',
    description:
      'See the whole job in seconds against a sandbox of the service: two runs, a jump, the alert, a statement.',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  {
    name: 'daemon',
    takes: '[options]',
    description: 'Run scheduler and workers in the foreground until SIGINT or SIGTERM; pm2 runs this.',
    load: async () => (await import('./daemon.ts')).daemonCommand,
  },
  {
    name: 'reload',
    takes: '[options]',
    description: 'Have the daemon read its configuration and secrets again, without a restart; runs under way go on.',
    load: async () => (await import('./reload.ts')).reloadCommand,
  },
  {
    name: 'open',
    takes: '[options]',
    description: "Print the link to the daemon's pages. It holds their token: whoever has it sees usage and money.",
    load: async () => (await import('./open.ts')).openCommand,
  },
  {
    name: 'sync',
    takes: '[options]',
    description: 'Sync now, in this process and without Redis: one run per workspace.',
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
    description: 'Check everything the daemon needs, a line each with the remedy; exit code 4 when something fails.',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  },
  {
    name: 'usage',
    takes: '[options]',
    description: 'Show what the ledger holds: credits and requests of each tenant in each period.',
    load: async () => (await import('./finance/usage.ts')).usageCommand,
  },
  {
    name: 'tenant',
    takes: '[options] <tenant>',
    description: "Show one tenant's history from the ledger: what it holds and how it came to that.",
    load: async () => (await import('./finance/tenant.ts')).tenantCommand,
  },
  {
    name: 'month-end',
    takes: '[options] <period>',
    description:
      'Show what stands in the way of closing a month, for all workspaces; exit code 4 when something does. Changes nothing.',
    load: async () => (await import('./finance/month-end.ts')).monthEndCommand,
  },
  {
    name: 'close',
    takes: '[options] <period>',
    description:
      'Freeze the figures of a period. What the service changes afterwards becomes adjustments in the first later period that is not closed.',
    load: async () => (await import('./finance/close.ts')).closeCommand,
  },
  {
    name: 'reopen',
    takes: '[options] <period>',
    description: 'Give up the frozen figures of a closed period. Its adjustments are taken back; both are recorded.',
    load: async () => (await import('./finance/close.ts')).reopenCommand,
  },
  {
    name: 'statement',
    takes: '[options] <period>',
    description: 'Show what each tenant is to pay for a period; of a closed one with a proof, see `statement verify`.',
    load: async () => (await import('./finance/statement/statement.ts')).statementCommand,
  },
  {
    name: 'export',
    takes: '[options] <view...>',
    description: 'Write rows for other tools: views of the ledger, or what a period costs in the FinOps format FOCUS.',
    load: async () => (await import('./finance/export.ts')).exportCommand,
  },
  {
    name: 'report',
    takes: '[options]',
    description: 'Write a page with charts of credits, money, movers, pace and alerts: one file that fetches nothing.',
    load: async () => (await import('./finance/report.ts')).reportCommand,
  },
  {
    name: 'rates',
    takes: '',
    description: 'Put rate cards into force, list those in force, and price the recorded history by others.',
    load: async () => (await import('./finance/rates.ts')).ratesCommand,
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
    description: 'Compare the ledger and the service with an invoice export; exit code 4 when they differ.',
    load: async () => (await import('./finance/reconcile.ts')).reconcileCommand,
  },
  {
    name: 'alerts',
    takes: '',
    description: 'Look at alerts, mute them and try other settings; without a subcommand, list the open ones.',
    load: async () => (await import('./alerts/alerts.ts')).alertsCommand,
  },
  {
    name: 'verify',
    takes: '[options] [file]',
    description: 'Recompute every invariant of the ledger and its digest chain; exit code 4 when something is wrong.',
    load: async () => (await import('./ledger/verify.ts')).verifyCommand,
  },
  {
    name: 'backup',
    takes: '[options] <file>',
    description: 'Copy the ledger into one file while the daemon runs, and check the copy before it gets its name.',
    load: async () => (await import('./ledger/backup.ts')).backupCommand,
  },
  {
    name: 'restore',
    takes: '[options] <file>',
    description:
      'Check a backup and put a copy of it in the place of the ledger, which is kept; the daemon must be stopped.',
    load: async () => (await import('./ledger/backup.ts')).restoreCommand,
  },
  {
    name: 'publish',
    takes: '[options]',
    description: 'Send what is new in the ledger to its copy in Postgres; the daemon does so after each run.',
    load: async () => (await import('./ledger/publish.ts')).publishCommand,
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
    description: 'Generate a temporary token that previews an embedded dashboard. The token is a secret.',
    load: async () => (await import('./service/dashboard.ts')).embedTokenCommand,
  },
  {
    name: 'sandbox',
    takes: '[options]',
    description: 'Run a local stand-in for the service until Ctrl-C; prints the configuration that reads from it.',
    load: async () => (await import('./service/sandbox.ts')).sandboxCommand,
  },
  {
    name: 'migrate',
    takes: '[options]',
    description: 'Bring the ledger to the schema of this version, or create it; the daemon does so by itself.',
    load: async () => (await import('./ledger/migrate.ts')).migrateCommand,
  },
];
