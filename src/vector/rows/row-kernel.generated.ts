// Made from assembly/row-kernel.ts by tools/assembly.ts. Do not change it here.
export const rowKernelWasm =
  "AGFzbQEAAAABBQFgAAF/AhIBA2VudgZtZW1vcnkCAwGAgAEDAgEABxgCC3BsYWNlaG9sZGVyAAAGbWVtb3J5AgAKBgEEAEEBCw==";
