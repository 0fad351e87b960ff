import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { findInEnvFile, readEnvFile } from './env-file.js';

const NEVER = new AbortController().signal;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'env-file-'));
});
afterEach(async () => rm(folder, { recursive: true }));

async function findAll(content: string | Uint8Array, keys: readonly string[], signal = NEVER) {
  const file = join(folder, 'file.env');
  await writeFile(file, content);
  await using handle = await open(file);
  return await findInEnvFile(await readEnvFile(handle, signal), new Set(keys), signal);
}

async function find(content: string | Uint8Array, key: string): Promise<string> {
  const value = (await findAll(content, [key])).get(key)!;
  if (value instanceof Error) throw value;
  return value;
}

const problemOf = (content: string, key: string) =>
  find(content, key).then(
    (value) => `no problem: ${value}`,
    (error: unknown) => (error as Error).message,
  );

describe('a variable of an env file', () => {
  it.each([
    ["A='one'\nB='two'\n", 'two'],
    ["  \t A='one'\n\t\tB='two'", 'two'],
    ["# a word\n\n   # another\n \t\nA='x'\nB='two'\n", 'two'],
    ["B='two' # a word\n", 'two'],
    ["B='two'#\n", 'two'],
    ["B='a#b=c'\n", 'a#b=c'],
    ["B='  two  '\n", '  two  '],
    ['B=\'$A ${A} `x` \\n "two"\'\n', '$A ${A} `x` \\n "two"'],
    ["B='one\n\n # two\n  three '\nC='x'\n", 'one\n\n # two\n  three '],
    ["A='x\nB=\\'y\n'\nB='two'\n", 'no problem'],
    ["B='one\r\ntwo'\r\n", 'one\ntwo'],
    ["B='first'\nB='second'\n", 'first'],
    ["B=''\nB='second'\n", ''],
    ["B= 'two'\n", ''],
    ["A='one'\n", ''],
    ['', ''],
    ["BB='x'\nB='two'\n= broken", 'two'],
  ])('is what stands between its quotes: %j', async (content, value) => {
    if (value === 'no problem') expect(await problemOf(content, 'B')).toMatch(/line 2/);
    else expect(await find(content, 'B')).toBe(value);
  });

  it.each([
    ["A='x'\nnothing\nB='y'", "invalid environment variable format at line 2: missing '='"],
    ["='x'\nB='y'", 'invalid environment variable format at line 1: empty variable name'],
    ["  ='x'\nB='y'", 'invalid environment variable format at line 1: empty variable name'],
    ["B ='y'", "invalid environment variable format at line 1: whitespace before '=' is not allowed"],
    ['A=x', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ['A=', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ['A="x"', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ["B='x''y'", 'invalid environment variable format at line 1: unexpected content after closing quote'],
    ["B='\n'y", 'invalid environment variable format at line 2: unexpected content after closing quote'],
    ["A='x'\nB='y\nz", 'invalid environment variable format starting at line 2: unclosed single quote'],
  ])('cannot be read from a file with a fault before it: %j', async (content, problem) => {
    expect(await problemOf(content, 'B')).toBe(problem);
  });

  it('keeps bytes that are no text, and those that two reads part', async () => {
    const value = Buffer.from([0xff, 0x00, 0x80]);
    const padding = Buffer.from(`#${'x'.repeat(65_529)}\n`);
    const file = Buffer.concat([padding, Buffer.from("B='ü"), value, Buffer.from("'\n")]);
    const found = Buffer.from(await find(file, 'B'), 'latin1');
    expect(found).toEqual(Buffer.concat([Buffer.from('ü'), value]));
  });

  it('may stand in lines of 65535 bytes, as with a kubelet, and in a value of many such lines', async () => {
    const long = 'x'.repeat(65_535);
    expect(await find(`#${long.slice(1)}\nB='y\n${long}\n'`, 'B')).toBe(`y\n${long}\n`);
    expect(await problemOf(`#${long}\nB='y'`, 'B')).toBe('bufio.Scanner: token too long');
    expect(await problemOf(`#${long}`, 'B')).toBe('bufio.Scanner: token too long');
    expect(await find(`B='y'\n#${long}`, 'B')).toBe('y');
  });

  it('is not searched for behind 1 MiB', async () => {
    const line = `${'#'.repeat(1023)}\n`;
    expect(await find(`${line.repeat(1023)}B='y'`, 'B')).toBe('y');
    expect(await find(`B='y'\n${line.repeat(2048)}`, 'B')).toBe('y');
    const problem = 'the file has more than 1048576 bytes';
    expect(await problemOf(`${line.repeat(1024)}B='y'`, 'B')).toBe(problem);
    expect(await find(line.repeat(1024), 'B')).toBe('');
    const value = `B='${'\n'.repeat(1024 * 1024 - 4)}`;
    expect(await problemOf(`${value}'\n`, 'B')).toBe(problem);
    expect(await find(`${value}'`, 'B')).toBe(value.slice(3));
  });

  it('is found together with others in one pass, up to the first fault', async () => {
    const found = await findAll("A='one'\nB='two'\nA='three'\nnothing\nC='x'", ['A', 'B', 'C', 'D']);
    const problem = new Error("invalid environment variable format at line 4: missing '='");
    expect([...found]).toEqual([
      ...[
        ['A', 'one'],
        ['B', 'two'],
      ],
      ...[
        ['C', problem],
        ['D', problem],
      ],
    ]);
  });

  it('is searched for in slices, between which the event loop turns, and the search can be aborted', async () => {
    const [newlines, abort] = ['\n'.repeat(1024 * 1024), new AbortController()];
    for (const text of [newlines, `B='${newlines.slice(4)}'`]) {
      let [turns, isDone] = [0, false];
      const search = findInEnvFile({ text, isCut: false }, new Set(['C']), NEVER).finally(() => {
        isDone = true;
      });
      for (; !isDone; turns++) await nextTurn();
      expect((await search).get('C')).toBe('');
      expect(turns).toBeGreaterThanOrEqual(60);
    }
    const aborted = findInEnvFile({ text: newlines, isCut: false }, new Set(['C']), abort.signal);
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await expect(findAll('', ['C'], abort.signal)).rejects.toThrow('enough');
  });
});
