/** The similarities as `src/vector/rows/similarity.ts` numbers them. */
export const COSINE: i32 = 0;
export const EUCLIDEAN: i32 = 1;
export const DOT_PRODUCT: i32 = 2;
