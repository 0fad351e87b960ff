/** What time limits of tests are multiplied by in an emulated machine, which is 10 to 20 times slower than a real one. */
export const PATIENCE = 10;
