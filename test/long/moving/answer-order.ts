/**
 * The pages of one walk in the order in which they are answered: page 1, then always one of those that a client with
 * this concurrency has in flight by then, chosen by `picks` in turn.
 */
export function answerOrder(pages: number, concurrency: number, picks: readonly number[]): number[] {
  const order = [1];
  const inFlight: number[] = [];
  let next = 2;
  for (let turn = 0; order.length < pages; turn += 1) {
    while (inFlight.length < concurrency && next <= pages) {
      inFlight.push(next);
      next += 1;
    }
    const pick = picks[turn % picks.length] ?? 0;
    order.push(...inFlight.splice(pick % inFlight.length, 1));
  }
  return order;
}
