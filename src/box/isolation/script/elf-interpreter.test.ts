import { describe, expect, it } from 'vitest';
import { readElfInterpreter } from './elf-interpreter.js';

describe('readElfInterpreter', () => {
  it('finds the loader of a program, and none of what is no program', async () => {
    expect(await readElfInterpreter(process.execPath)).toMatch(/^\/lib.*ld.*so/);
    expect(await readElfInterpreter('/etc/passwd')).toBeUndefined();
  });
});
