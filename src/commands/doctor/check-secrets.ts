import { namedSecrets } from '../../config/reading/secrets.ts';
import type { Config } from '../../config/types.ts';
import { type Finding, warn } from './finding.ts';

const MIN_SECRET_LENGTH = 8;

/** Warns of each setting whose secret is shorter than eight characters. The value itself is never part of the finding. */
export function checkSecrets(config: Config): Finding[] {
  const short = namedSecrets(config).filter(({ value }) => value.length < MIN_SECRET_LENGTH);
  return [...new Set(short.map(({ setting }) => setting))].map((setting) =>
    warn(
      'secrets',
      `${setting} is shorter than ${MIN_SECRET_LENGTH} characters: it can be guessed, and messages hide it only as a whole word`,
      'set a longer one where it was issued, then in the configuration',
    ),
  );
}
