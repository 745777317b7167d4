import { namedSecrets } from '../../config/reading/secrets.ts';
import type { Config } from '../../config/types.ts';
import { type DoctorFinding, warn } from './finding.ts';

const MIN_SECRET_LENGTH = 8;

/** Warns about each secret that is shorter than eight characters. The warning names the setting, never the secret. */
export function checkSecrets(config: Config): DoctorFinding[] {
  const short = namedSecrets(config).filter(({ value }) => value.length < MIN_SECRET_LENGTH);
  return [...new Set(short.map(({ setting }) => setting))].map((setting) =>
    warn(
      'secrets',
      `${setting} is shorter than ${MIN_SECRET_LENGTH} characters: it can be guessed, and is redacted only where it is a whole word`,
      'issue a longer secret, then set it in the configuration',
    ),
  );
}
