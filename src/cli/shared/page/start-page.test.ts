import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { LineOutput } from '../../line-output.js';
import { startPage } from './start-page.js';

function terminal(isTTY: boolean): LineOutput {
  return new LineOutput(Object.assign(new PassThrough(), { isTTY }));
}

/** Prints its arguments, and ends with its standard input. */
const PROGRAM = `console.log(process.argv.slice(1).join(' ')); process.stdin.resume().on('end', () => console.log('ended'))`;

it('serves the page in a process of its own, which ends with what was returned', async () => {
  const lines: string[] = [];
  const host = { selfCommand: [process.execPath, '-e', PROGRAM, '--'] as const, stderr: terminal(true) };
  const page = startPage({
    ...{ host, socketPath: '/run/a.sock', logger: SILENT_LOGGER },
    say: (line) => void lines.push(line),
  });
  await expect.poll(() => lines).toEqual(['web --socket /run/a.sock --end-with-stdin']);
  await page![Symbol.asyncDispose]();
  expect(lines.at(-1)).toBe('ended');
});

it('serves none where no terminal shows the link', () => {
  const host = { selfCommand: [process.execPath] as const, stderr: terminal(false) };
  expect(startPage({ host, socketPath: '/run/a.sock', logger: SILENT_LOGGER })).toBeUndefined();
});
