/** A source of chance that gives the same for the same seed, on every machine. */
export interface Random {
  /** From 0, included, to 1, excluded. */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number;
  /** Around 0, with this standard deviation. */
  normal(deviation: number): number;
  /** A factor around 1: `exp(normal)`, its mean brought to 1. */
  noise(deviation: number): number;
  /** The list in another order. */
  shuffled<T>(list: readonly T[]): T[];
}

/** Mulberry32 for the numbers, Box and Muller for their bell. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = (deviation: number): number =>
    deviation * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const integer = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    integer,
    normal,
    noise: (deviation) => Math.exp(normal(deviation) - (deviation * deviation) / 2),
    shuffled: (list) => {
      const order = [...list];
      for (let last = order.length - 1; last > 0; last -= 1) {
        const other = integer(0, last);
        [order[last], order[other]] = [order[other] as (typeof order)[0], order[last] as (typeof order)[0]];
      }
      return order;
    },
  };
}
