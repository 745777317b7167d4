import { expect, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { createLogger, type Logger } from '../../src/core/logger.ts';
import { createRedactor } from '../../src/core/text/redact.ts';

const SECRET = 'sk_test "quoted" secret';
const ESCAPED = JSON.stringify(SECRET).slice(1, -1);

test.each<[string, (logger: Logger) => void]>([
  ['in the message', (logger) => logger.info(`key ${SECRET}`)],
  ['in a field', (logger) => logger.info({ anything: SECRET }, 'x')],
  ['deep inside objects and lists', (logger) => logger.info({ a: [{ b: { c: [`x${SECRET}y`] } }] }, 'x')],
  ['as the name of a field', (logger) => logger.info({ [SECRET]: 1 }, 'x')],
  ['in the message and stack of an error', (logger) => logger.error({ err: new Error(`refused ${SECRET}`) }, 'x')],
  ['in the cause of an error', (logger) => logger.error(new AppError('x', 'y', { cause: new Error(SECRET) }))],
  ['in a child of the logger', (logger) => logger.child({ key: SECRET }).warn('x')],
])('a secret %s never reaches the log', (_, write) => {
  const { logger, lines } = recording();

  write(logger);

  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('[redacted]');
  expect(lines[0]).not.toContain(ESCAPED);
  expect(lines[0]).not.toContain(SECRET);
  expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
});

test('a line is JSON with the name of its level and a UTC time', () => {
  const { logger, lines } = recording();
  logger.warn({ pages: 3 }, 'walk ended');
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/),
    pages: 3,
    msg: 'walk ended',
  });
});

test('lines below the level are not written', () => {
  const { logger, lines } = recording();
  logger.debug('x');
  expect(lines).toEqual([]);
});

function recording(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { logger: createLogger({ redact: createRedactor([SECRET]), destination }), lines };
}
