import { userInfo } from 'node:os';
import { relative, sep } from 'node:path';
import { writeSamples } from '../config/samples.ts';
import { PACKAGE_FOLDER } from '../core/process/package-file.ts';
import { type CliCommand, type CliContext, reportingCommand } from './shared/cli-context.ts';

interface InitOptions {
  systemd?: boolean;
  compose?: boolean;
}

export function initCommand(cli: CliContext): CliCommand {
  return reportingCommand('init', { config: false })
    .option('--systemd', 'also write a systemd unit: usage-ledger.service')
    .option('--compose', 'also write a compose file: compose.yaml')
    .examples('usage-ledger init')
    .action((options: InitOptions) => init(cli, options));
}

function init(cli: CliContext, { systemd = false, compose = false }: InitOptions): void {
  const folder = cli.io.cwd;
  const { username: name, uid, gid } = userInfo();
  const user = { name, uid, gid };
  const { written, kept } = writeSamples({
    folder,
    packageFolder: PACKAGE_FOLDER,
    nodePath: process.execPath,
    user,
    systemd,
    compose,
  });
  cli.printResult({ written, kept }, [
    ...written.map((file) => `wrote ${relativePath(folder, file)}`),
    ...kept.map((file) => `kept  ${relativePath(folder, file)}, which already exists`),
  ]);
  if (cli.json) return;
  cli.note('');
  cli.note('Next:');
  const next = [
    ['cp .env.example .env && chmod 600 .env', 'then fill in .env'],
    [cli.commandLine('doctor'), 'check the setup, with remedies'],
    [cli.commandLine('sync'), 'run once now'],
    nextRun({ systemd, compose }),
  ];
  for (const [command = '', does = ''] of next) cli.note(`  ${command.padEnd(42)} ${does}`);
}

function nextRun({ systemd, compose }: Required<InitOptions>): [command: string, does: string] {
  if (systemd) return ['see the head of usage-ledger.service', 'run the daemon under systemd'];
  if (compose) return ['docker compose up -d', 'run the daemon in a container'];
  return ['npx pm2 start ecosystem.config.cjs', 'run the daemon under pm2'];
}

function relativePath(folder: string, file: string): string {
  return `.${sep}${relative(folder, file)}`;
}
