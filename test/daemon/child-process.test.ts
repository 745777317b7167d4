import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitForResult } from '../../src/daemon/child-process.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const WORDS = { crashed: 'it_crashed', does: 'does it' };

function childThat(script: string) {
  const file = join(temporaryFolder(), 'child.cjs');
  writeFileSync(file, script);
  return fork(file, [], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
}

test('returns the result of a child process, throws its error, and throws for one that ends without a message', async () => {
  expect(await waitForResult(childThat('process.send({ rows: 3 }, () => process.disconnect())'), WORDS)).toEqual({
    rows: 3,
  });
  const error = { code: 'disk_full', message: 'no room', retryable: true };
  const told = childThat(`process.send(${JSON.stringify({ error })}, () => process.disconnect())`);
  expect(await rejection(waitForResult(told, WORDS))).toMatchObject(error);
  const mute = await rejection(waitForResult(childThat('process.exit(7)'), WORDS));
  expect(mute).toMatchObject({ code: 'it_crashed', message: 'the process that does it ended with code 7' });
});
