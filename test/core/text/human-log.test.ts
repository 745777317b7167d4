import { describe, expect, it } from 'vitest';
import { createLogger, humanLogLine } from '../../../src/core/logger.ts';

const PLAIN = { colours: false };

describe('a log line for people', () => {
  it('has UTC time, level, message and fields on one line, and long fields below it', () => {
    const line = JSON.stringify({
      level: 'error',
      time: '2026-02-20T12:00:03.123Z',
      workspaceId: 'ws-1',
      attempt: 2,
      reason: 'workspace usage: 401',
      hint: 'check the key',
      note: 'two words',
      msg: 'run failed',
    });
    expect(humanLogLine(`${line}\n`, PLAIN)).toBe(
      '2026-02-20 12:00:03Z ERROR run failed workspaceId=ws-1 attempt=2 note="two words"\n' +
        '      workspace usage: 401\n      check the key\n',
    );
  });

  it('cannot act on the terminal', () => {
    const line = JSON.stringify({ level: 'info', time: '', msg: 'a\u001b[2J\nb', 'k\u0007': '\u001b]0;x' });
    expect(humanLogLine(line, PLAIN).slice(0, -1)).not.toMatch(/[\p{Cc}]/u);
  });

  it('is unchanged if it is not a JSON line', () => {
    expect(humanLogLine('plain words', PLAIN)).toBe('plain words\n');
    expect(humanLogLine('{"no":"level"}\n', PLAIN)).toBe('{"no":"level"}\n');
  });

  it('is coloured on request', () => {
    expect(humanLogLine('{"level":"warn","msg":"x"}', { colours: true })).toContain('\u001b[33mWARN \u001b[39m');
  });
});

it('a destination receives the level of each line, including those of child loggers', () => {
  const seen: string[] = [];
  const logger = createLogger({ level: 'debug', destination: { write: (_, level) => void seen.push(level) } });
  logger.info('a');
  logger.child({ x: 1 }).error('b');
  logger.debug('c');
  expect(seen).toEqual(['info', 'error', 'debug']);
});
