import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';

/** `pid command line` of every process whose command line has that word in it, but for this one. */
async function processesNaming(word: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const text = await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '');
    if (text.includes(word)) found.push(`${pid} ${text.replaceAll('\0', ' ')}`);
  }
  return found;
}

/**
 * Resolves once no process has the folder in its command line: an embedded runtime ends a moment after its agent, and
 * would make files in a folder that is just removed.
 */
export async function untilNobodyNames(folder: string, limitMs = 30_000): Promise<void> {
  await vi.waitFor(async () => expect(await processesNaming(folder)).toEqual([]), limitMs);
}
