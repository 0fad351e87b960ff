import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { carryEnvironment } from './carried-environment.js';

const SHELL_ENV = { PATH: '/usr/bin:/bin', SHELL: '/bin/sh' };

/** Brings it to a program through a shell; what that program has then, in the kernel's order. */
function bring(entries: readonly (string | Buffer)[]): Buffer[] {
  const environment = entries.map((entry) => (typeof entry === 'string' ? Buffer.from(entry) : entry));
  const { exports, words } = carryEnvironment(environment, ['/usr/bin/env']);
  const input = Buffer.concat([
    exports,
    Buffer.from('exec '),
    words,
    Buffer.from('/bin/cat /proc/self/environ\n'),
  ]);
  const output = execFileSync('/bin/sh', ['-s'], { input, env: SHELL_ENV, maxBuffer: 1 << 24 });
  const texts = output.toString('latin1').split('\0').slice(0, -1);
  return texts.map((text) => Buffer.from(text, 'latin1'));
}

function sorted(entries: readonly (string | Buffer)[]): string[] {
  return entries.map((entry) => Buffer.from(entry as string).toString('latin1')).sort();
}

describe('carryEnvironment', () => {
  it('brings any names and any bytes, and nothing else', () => {
    const entries = [
      'PATH=/bin',
      'a.b=dotted',
      'with blank=1',
      "it's=quoted",
      'back\\slash=\\n',
      '$HOME=${a}',
      '-u=option',
      '#=comment',
      'new\nline=two\nlines',
      'a=A',
      'P0=own',
      'IFS=x',
      'PWD=/nowhere',
      '_=under',
      'LD_LIBRARY_PATH=/none',
      'empty=',
      'equals=a=b',
      Buffer.from([0x41, 0x3d, 0xff, 0x27, 0xfe]),
      Buffer.from([0xe4, 0x3d, 0x31]),
    ];
    expect(sorted(bring(entries))).toEqual(sorted(entries));
    expect(bring([])).toEqual([]);
  });

  it('brings whatever can be a variable', () => {
    const text = fc.string({ unit: 'binary' }).filter((each) => !each.includes('\0'));
    const name = text.filter((each) => each !== '' && !each.includes('='));
    const variables = fc.uniqueArray(fc.tuple(name, text), { selector: ([each]) => each, maxLength: 8 });
    fc.assert(
      fc.property(variables, (pairs) => {
        const entries = pairs.map(([each, value]) => `${each}=${value}`);
        expect(sorted(bring(entries))).toEqual(sorted(entries));
      }),
      { numRuns: 10 },
    );
  });

  it('brings a value of the longest that the kernel takes, by the shortest name', () => {
    const entries = ['A', 'B', 'P'].map((name) => `${name}=${'x'.repeat(128 * 1024 - 3)}`);
    expect(sorted(bring(entries))).toEqual(sorted(entries));
  });

  it('brings thousands of variables, more than one word can name', () => {
    const entries = Array.from(
      { length: 8000 },
      (_, at) => `SERVICE_NUMBER_${at}_PORT_8080_TCP_ADDR=10.0.0.${at}`,
    );
    const all = [...entries, 'LD_PRELOAD=', 'PATH=/nowhere', 'P1=x', 'a=y'];
    expect(sorted(bring(all))).toEqual(sorted(all));
  });

  it('has no value in the command line, and no loader’s variable for any but the last program', () => {
    const entries = Array.from({ length: 9000 }, (_, at) =>
      Buffer.from(`LD_${at}_IS_A_LONG_NAME=secret-${at}`),
    );
    const { words } = carryEnvironment([...entries, Buffer.from('A=secret-a')], ['env']);
    expect(words.toString()).not.toContain('secret');
    expect(words.toString().split('-S')[1]).toMatch(/A=\$\{\w+\}/);
  });
});
