/**
 * Credits, counts and amounts lie between this and its negative, and so does whatever is computed of them and stored. Of
 * -2^63, which 64 bits hold as well, there is neither an absolute value nor a negative.
 */
export const LARGEST_FIGURE = 2n ** 63n - 1n;
