import { expect, test } from 'vitest';
import { Releasers } from '../../../src/core/process/releasers.ts';
import { rejection } from '../../support/rejection.ts';

test('resources are released in reverse order, one after the other', async () => {
  const steps: string[] = [];
  const slow = Promise.withResolvers<void>();
  const releasers = new Releasers();
  releasers.push(() => void steps.push('first'));
  releasers.push(async () => {
    steps.push('second begins');
    await slow.promise;
    steps.push('second ends');
  });
  releasers.push(() => void steps.push('third'));

  const released = releasers.release();
  expect(steps).toEqual(['third', 'second begins'].slice(0, steps.length));
  slow.resolve();
  await released;

  expect(steps).toEqual(['third', 'second begins', 'second ends', 'first']);
});

test('releasing twice, at once or later, releases once', async () => {
  let releases = 0;
  const releasers = new Releasers();
  releasers.push(() => {
    releases += 1;
  });
  await Promise.all([releasers.release(), releasers.release()]);
  await releasers.release();
  expect(releases).toBe(1);
});

test('a failed release does not stop the others, and the first error is thrown', async () => {
  const steps: string[] = [];
  const releasers = new Releasers();
  releasers.push(() => void steps.push('oldest'));
  releasers.push(() => Promise.reject(new Error('the later failure')));
  releasers.push(() => {
    throw new Error('the first failure');
  });

  expect((await rejection(releasers.release())).message).toBe('the first failure');
  expect(steps).toEqual(['oldest']);
});
