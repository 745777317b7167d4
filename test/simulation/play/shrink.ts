import type { Plan } from './plan.ts';

/**
 * The fewest happenings that still break the same promise: leaves out halves, then quarters, then single ones, for as long
 * as that works and `plays` are left.
 */
export async function shrink(plan: Plan, breaks: (plan: Plan) => Promise<boolean>, plays = 60): Promise<Plan> {
  let smallest = plan;
  let left = plays;
  for (let size = Math.ceil(plan.happenings.length / 2); size >= 1 && left > 0; ) {
    let shrunk = false;
    for (let from = 0; from < smallest.happenings.length && left > 0; ) {
      const happenings = smallest.happenings.toSpliced(from, size);
      left -= 1;
      if (await breaks({ ...smallest, happenings })) {
        smallest = { ...smallest, happenings };
        shrunk = true;
      } else from += size;
    }
    if (size === 1 && !shrunk) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return smallest;
}
