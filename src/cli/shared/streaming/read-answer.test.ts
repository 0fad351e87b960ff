import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { isYes } from './read-answer.js';

async function answer(...chunks: string[]) {
  const stdin = new PassThrough();
  const lines: string[] = [];
  const asked = isYes(stdin, { writeLine: async (line) => Promise.resolve(void lines.push(line)) }, signal());
  for (const chunk of chunks) stdin.write(chunk);
  stdin.end();
  return { isYes: await asked, lines };
}

const signal = (): AbortSignal => new AbortController().signal;

describe('the answer to a question', () => {
  it.each([['y\n'], ['Yes\n'], ['y', 'es', '\n'], [' y \n']])('is a yes: %j', async (...chunks) => {
    expect(await answer(...chunks)).toEqual({ isYes: true, lines: [] });
  });

  it.each([['n\n'], ['\n'], ['yeah\n'], ['no\nyes\n']])('is a no: %j', async (...chunks) => {
    expect(await answer(...chunks)).toEqual({ isYes: false, lines: [] });
  });

  it('is a no when the input ends, as by Ctrl-D, and what comes next begins in a line of its own', async () => {
    expect(await answer()).toEqual({ isYes: false, lines: [''] });
  });

  it('is not waited for any more when the signal aborts', async () => {
    const ending = new AbortController();
    const asked = isYes(new PassThrough(), { writeLine: async () => Promise.resolve() }, ending.signal);
    ending.abort();
    await expect(asked).rejects.toThrow();
  });
});
