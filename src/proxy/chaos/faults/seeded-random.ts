/** Numbers in [0, 1) that depend on the seed and the name alone, so that each rule draws for itself. */
export function createSeededRandom(seed: number, name: string): () => number {
  let state = mix(seed >>> 0);
  for (const byte of Buffer.from(name)) state = mix((state ^ byte) >>> 0);
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state) / 2 ** 32;
  };
}

function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
