import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { buildProgram } from '../../src/commands/main.ts';
import { CliContext } from '../../src/commands/shared/cli-context.ts';
import { OPERATIONS } from '../../src/operations/operations.ts';
import { CHANGE_CASES } from './changes/change-cases.ts';
import { CHANGES } from './changes/obeys.ts';

/** The changes that people on call may make, by docs/api.md. All others change bills. */
const OF_OPERATORS = [
  ...['alerts.acknowledge', 'alerts.label', 'silences.add', 'silences.end', 'plans.add'],
  ...['messages.replay', 'channels.test', 'workspaces.sync', 'outlets.pause', 'outlets.resume'],
];

/** Operations without a command: parts of pages, `tenants import` for names, and `sync`, which needs no daemon. */
const WITHOUT_COMMAND = [
  ...['tenants.rank', 'months.list', 'months.compare', 'runs.show', 'runs.latest', 'head.read'],
  ...['tenants.edit', 'workspaces.sync'],
];

/** Options of a command that shows its change first, or only shows it. */
const PREVIEW_OPTIONS = ['--yes', '--dry-run', '--record'];

const silent = { write: () => true };
const program = await buildProgram(new CliContext({ stdout: silent, stderr: silent, env: {}, cwd: '/' }), () => true);

/** Returns the options of a command such as `alerts ack`; its last words may be options. Undefined if there is none. */
function optionsOf(line: string): string[] | undefined {
  let command: Command | undefined = program;
  for (const word of line.split(' ')) {
    if (word.startsWith('--')) break;
    const next: Command | undefined = command.commands.find((child) => child.name() === word);
    if (next === undefined && command.commands.length > 0) return undefined;
    command = next ?? command;
  }
  return command.options.map(({ long }) => long ?? '');
}

it('every operation is a read for everybody, or a change by POST with the role of the documentation', () => {
  for (const { name, kind, http, role } of OPERATIONS) {
    if (kind !== 'change') expect([name, role]).toEqual([name, 'read']);
    else expect([name, http.method, role]).toEqual([name, 'POST', OF_OPERATORS.includes(name) ? 'operate' : 'finance']);
  }
});

it('every change is played by command, by operation and over HTTP, with its role and its actor', () => {
  expect(Object.keys(CHANGE_CASES).sort()).toEqual(CHANGES.map(({ name }) => name).sort());
});

it('every operation has a command that exists', () => {
  const without = OPERATIONS.filter(({ command }) => command === null).map(({ name }) => name);
  expect(without.sort()).toEqual(WITHOUT_COMMAND.toSorted());
  for (const { name, command } of OPERATIONS) {
    if (command !== null) expect(optionsOf(command) ?? [], `${name}: usage-ledger ${command}`).toContain('--config');
  }
});

it('a change can be tried if its command shows it first, and its command takes --by if the ledger records who made it', () => {
  for (const { name, command, input } of CHANGES.filter((change) => change.command !== null)) {
    const options = optionsOf(command ?? '') ?? [];
    const isShownFirst = options.some((option) => PREVIEW_OPTIONS.includes(option));
    expect([name, 'dry_run' in input.shape]).toEqual([name, isShownFirst]);
    expect([name, CHANGE_CASES[name]?.actors !== null]).toEqual([name, options.includes('--by')]);
  }
});
