/** A mutant that no test could tell from the original, and why. The line is the whole one in the source, without its indent. */
export interface Equivalent {
  file: string;
  line: string;
  was: string;
  becomes: string;
  because: string;
}

const ONE_BRACE = 'the token is a brace, letters that are none, and a brace: it cannot begin or end elsewhere';
const TOKEN = 'return /^\\{[a-z_]{1,20}\\}$/i.test(token)';

export const EQUIVALENTS: readonly Equivalent[] = [
  { file: 'config/signing-scheme.ts', line: TOKEN, was: '^', becomes: '', because: ONE_BRACE },
  { file: 'config/signing-scheme.ts', line: TOKEN, was: '$', becomes: '', because: ONE_BRACE },
  {
    file: 'core/period.ts',
    line: 'return Number(period.slice(0, 4)) * 12 + Number(period.slice(5, 7)) - 1;',
    was: '7',
    becomes: '8',
    because: 'a period has seven characters',
  },
  {
    file: 'ledger/journal/runs/apply-run.ts',
    line: 'const TENANTS_A_STATEMENT = 100;',
    was: '100',
    becomes: '101',
    because: 'how many tenants a statement adds decides how long it takes, not what it adds',
  },
  {
    file: 'ledger/journal/runs/apply-run.ts',
    line: 'const keySetDigest = shift > 0 ? keys.shifted(tenantBase, shift).digest() : facts.keySetDigest;',
    was: '>',
    becomes: '>=',
    because: 'keys that are shifted by nothing have the digest that is known',
  },
  {
    file: 'ledger/journal/runs/apply-run.ts',
    line: 'if (staging.sumsMayOverflow || hasAbsences(connection, run)) refuseOverflow(connection, run);',
    was: 'staging.sumsMayOverflow || hasAbsences(connection, run)',
    becomes: 'true',
    because: 'the sums are looked at though they cannot be too large, and are found to be right',
  },
];
