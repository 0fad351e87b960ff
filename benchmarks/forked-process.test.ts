import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ForkedProcess } from './forked-process.js';

const signal = new AbortController().signal;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'podloop-forked-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function program(text: string): Promise<string> {
  const file = path.join(folder, 'program.mjs');
  await writeFile(file, text);
  return file;
}

it('asks and is answered', async () => {
  const file = await program(`
    process.on('message', (question) => process.send(question + process.argv[2]));
    process.send('ready');
  `);
  await using forked = await ForkedProcess.start(file, { name: 'the echo', args: ['!'], signal });
  expect([await forked.ask('a'), await forked.ask('b')]).toEqual(['a!', 'b!']);
});

it('says that a process ended by itself, before it was ready and later', async () => {
  const options = { name: 'the echo', args: [], signal };
  await expect(ForkedProcess.start(await program(''), options)).rejects.toThrow('the echo ended by itself');
  const file = await program(`process.on('message', () => process.exit()); process.send('ready');`);
  await using forked = await ForkedProcess.start(file, options);
  await expect(forked.ask('a')).rejects.toThrow('the echo ended by itself');
  await expect(forked.ask('a')).rejects.toThrow('the echo ended by itself');
});

it('waits for no answer for ever, and for none that nobody wants any more', async () => {
  const silent = await program(`process.on('message', () => undefined);`);
  const options = { name: 'the echo', args: [], signal };
  await expect(ForkedProcess.start(silent, { ...options, answerMs: 1 })).rejects.toThrow(
    'waited 0.001 s for the echo to be ready',
  );
  await expect(ForkedProcess.start(silent, { ...options, signal: AbortSignal.abort() })).rejects.toThrow(
    'aborted',
  );
});
