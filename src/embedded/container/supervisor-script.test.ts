import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderCommand, SUPERVISOR_SCRIPT } from './supervisor-script.js';

const TOOLS = { env: '/usr/bin/env', setsid: '/usr/bin/setsid' };

describe('renderCommand', () => {
  it('hands every byte of arguments and variables through a shell', () => {
    const word = fc.string().filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 3 }), word, (args, value) => {
        const command = {
          argv: ['printf', '%s\\0', ...args, 'end'],
          environment: [Buffer.from('PATH=/usr/bin:/bin'), Buffer.from(`a.b=${value}`)],
          workingDir: '/',
        };
        const input = renderCommand(command, TOOLS);
        const output = execFileSync('/bin/sh', ['-s'], { input }).toString();
        expect(output.split('\0').slice(0, -1)).toEqual([...args, 'end']);
        const shown = execFileSync('/bin/sh', ['-s'], {
          input: renderCommand({ ...command, argv: ['env'] }, TOOLS),
        });
        expect(shown.toString()).toBe(`PATH=/usr/bin:/bin\na.b=${value}\n`);
      }),
      { numRuns: 15 },
    );
  });

  it('keeps a value that is no text', () => {
    const environment = [Buffer.from('PATH=/usr/bin:/bin'), Buffer.from([0x41, 0x3d, 0xff, 0x27, 0xfe])];
    const input = renderCommand({ argv: ['env'], environment, workingDir: '/' }, TOOLS);
    expect(execFileSync('/bin/sh', ['-s'], { input }).subarray(-6)).toEqual(
      Buffer.from([0x41, 0x3d, 0xff, 0x27, 0xfe, 0x0a]),
    );
  });
});

describe('SUPERVISOR_SCRIPT', () => {
  it('is understood by the shell', () => {
    execFileSync('/bin/sh', ['-n'], { input: SUPERVISOR_SCRIPT });
    expect(SUPERVISOR_SCRIPT).not.toContain('\t');
  });
});
