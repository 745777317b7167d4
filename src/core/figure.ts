/**
 * The largest value of credits, counts, amounts and everything stored that is computed from them; its negative is the
 * smallest. -2^63 fits 64 bits too but is excluded: it has no absolute value in 64 bits.
 */
export const LARGEST_FIGURE = 2n ** 63n - 1n;
