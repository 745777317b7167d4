import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { CliContext } from '../../src/commands/cli-context.ts';
import { buildProgram } from '../../src/commands/main.ts';
import { runInEmptyFolder } from './world.ts';

const silent = { write: () => true };
const program = buildProgram(new CliContext({ stdout: silent, stderr: silent, env: {}, cwd: '/' }));

function pathsBelow(command: Command, path: string[] = []): string[][] {
  return command.commands.flatMap((child) => {
    const own = [...path, child.name()];
    return [own, ...pathsBelow(child, own)];
  });
}

describe('help', () => {
  it('shows the commands in the order in which they are needed', async () => {
    const { code, out, err } = await runInEmptyFolder('--help');
    expect(code).toBe(0);
    expect(err).toBe('');
    expect([...out.matchAll(/^ {2}([a-z-]+) (?: |\[|<)/gm)].map((match) => match[1])).toEqual([
      'init',
      'daemon',
      'sync',
      'status',
      'doctor',
      'usage',
      'tenant',
      'alerts',
      'verify',
      'dashboard',
      'embed-token',
      'sandbox',
      'migrate',
      'help',
    ]);
  });

  it.each(pathsBelow(program).map((path) => [path.join(' '), path] as const))(
    'of `%s` describes it and gives examples',
    async (name, path) => {
      const { code, out, err } = await runInEmptyFolder(...path, '--help');
      expect(code).toBe(0);
      expect(err).toBe('');
      expect(out).toContain(`Usage: usage-ledger ${name} `);
      expect(out).toMatch(/^\n?Usage: .*\n\n[A-Z].{20,}/);
      expect(out).toMatch(/Examples:\n {2}\$ \S/);
    },
  );

  it.each(pathsBelow(program).map((path) => [path.join(' '), path] as const))(
    'is pointed to when `%s` is given an unknown option, with exit code 2',
    async (_, path) => {
      const { code, out, err } = await runInEmptyFolder(...path, '--no-such-option');
      expect(code).toBe(2);
      expect(out).toBe('');
      expect(err).toContain('--no-such-option');
    },
  );

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
