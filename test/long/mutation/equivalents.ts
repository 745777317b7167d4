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
];
