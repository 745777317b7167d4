import { PromiseBroken } from './fault.ts';

/** What somebody has typed, and what came of it. */
export interface Screen {
  argv: readonly string[];
  code: number;
  stderr: string;
}

/** Neither the state of a month nor another process is in their way. */
const NEVER_REFUSED = ['rates', 'usage', 'status'];

/** A command ends with words, and does what was typed when nothing is in its way. */
export function checkScreen({ argv, code, stderr }: Screen, isDiskWell: boolean): void {
  const line = argv.join(' ');
  if (stderr.includes('    at ')) throw new PromiseBroken('no command ends in a stack', `${line}: ${stderr}`);
  if (isDiskWell && code !== 0 && NEVER_REFUSED.includes(argv[0] ?? ''))
    throw new PromiseBroken('what is typed is done', `${line} ended with ${code}: ${stderr}`);
}
