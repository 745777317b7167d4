import { type Command, Help } from 'commander';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/command-list.ts';
import { buildProgram } from '../../src/commands/main.ts';
import { CliContext } from '../../src/commands/shared/cli-context.ts';
import { createWorld, FIRST, runInEmptyFolder } from './world.ts';

const silent = { write: () => true };
const cli = new CliContext({ stdout: silent, stderr: silent, env: {}, cwd: '/' });
const program = await buildProgram(cli, () => true);

interface Entry {
  name: string;
  path: string[];
  /** Options that cannot be left out, with a value. */
  needed: string[];
}

function entriesBelow(command: Command, path: string[] = []): Entry[] {
  return command.commands.flatMap((child) => {
    const own = [...path, child.name()];
    const needed = child.options.flatMap((option) => (option.mandatory ? [option.long ?? '', 'x'] : []));
    return [{ name: own.join(' '), path: own, needed }, ...entriesBelow(child, own)];
  });
}

const ENTRIES = entriesBelow(program);

describe('help', () => {
  it.each(COMMANDS)('shows of `$name` what the command itself takes, though it is not loaded', async (entry) => {
    const command = (await entry.load())(cli);
    expect(new Help().subcommandTerm(command)).toBe(`${entry.name} ${entry.takes}`.trimEnd());
    // The list describes it; words of its own would be lost.
    expect(command.description()).toBe('');
  });

  it.each(ENTRIES)('of `$name` describes it and gives examples', async ({ name, path }) => {
    const { code, out, err } = await runInEmptyFolder(...path, '--help');
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toContain(`Usage: usage-ledger ${name} `);
    expect(out).toMatch(/^Usage: .*\n\n[A-Z].{20,}/);
    expect(out).toMatch(/Examples:\n {2}\$ \S/);
    // A terminal of 80 columns breaks nothing, where npx has called, too.
    const typed = out.replaceAll('$ usage-ledger', '$ npx usage-ledger');
    expect(typed.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each(ENTRIES)('is pointed to when `$name` is given an unknown option, with exit code 2', async (entry) => {
    const { code, out, err } = await runInEmptyFolder(...entry.path, ...entry.needed, '--no-such-option');
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain("error: unknown option '--no-such-option'");
    expect(err).toContain('--help');
  });

  it.each([[['bogus']], [[]], [['dashboard']], [['usage', 'too', 'many']], [['tenant']], [['alerts', 'bogus']]])(
    'is offered for the wrong command line %j, with exit code 2',
    async (argv) => {
      const { code, out, err } = await runInEmptyFolder(...argv);
      expect(code).toBe(2);
      expect(out).toBe('');
      expect(err).toMatch(/--help|show help/);
    },
  );

  it('says the version', async () => {
    const { code, out } = await runInEmptyFolder('--version');
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

it('names commands as they are typed: by npx where npx has called', async () => {
  const world = await createWorld(FIRST);
  const npx = { PATH: process.env.PATH, npm_command: 'exec' };
  const script = { ...npx, npm_command: 'run-script' };
  expect((await world.runWith(script, 'close', '2026-01')).err).toContain('`npx usage-ledger sync`');
  expect((await world.runWith(npx, 'usage', '--help')).out).toContain('  $ npx usage-ledger usage --period 2026-02');
  expect((await world.runWith(npx, 'close', '2026-01')).err).toContain('`npx usage-ledger sync`');
  expect((await world.run('close', '2026-01')).err).toContain('`usage-ledger sync`');
  expect((await world.runWith(npx, 'close', '2026-01', '--json')).out).toContain('`usage-ledger sync`');
});
