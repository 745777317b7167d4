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
    .option('--systemd', 'also a unit for systemd: usage-ledger.service')
    .option('--compose', 'also a file for compose: compose.yaml')
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
  cli.answer({ written, kept }, [
    ...written.map((file) => `wrote ${here(folder, file)}`),
    ...kept.map((file) => `kept  ${here(folder, file)}, which was there already`),
  ]);
  if (cli.json) return;
  cli.note('');
  cli.note('Next:');
  const next = [
    ['cp .env.example .env && chmod 600 .env', 'then fill it in'],
    [cli.commandLine('doctor'), 'checks all of it, with remedies'],
    [cli.commandLine('sync'), 'one run now'],
    nextRun({ systemd, compose }),
  ];
  for (const [command = '', does = ''] of next) cli.note(`  ${command.padEnd(42)} ${does}`);
}

function nextRun({ systemd, compose }: Required<InitOptions>): [command: string, does: string] {
  if (systemd) return ['see the head of usage-ledger.service', 'the daemon, under systemd'];
  if (compose) return ['docker compose up -d', 'the daemon, in a container'];
  return ['npx pm2 start ecosystem.config.cjs', 'the daemon, under pm2'];
}

function here(folder: string, file: string): string {
  return `.${sep}${relative(folder, file)}`;
}
