import { withThousands } from './thousands.ts';

/** A count with its noun: `1 alert`, `1,200 alerts`. `many` is the plural where it is not the noun with an s. */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${withThousands(String(count))} ${Number(count) === 1 ? one : many}`;
}
