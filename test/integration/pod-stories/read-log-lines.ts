import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a container wrote in all its lives, line by line, from its folder of logs; nothing while there is no log. */
export async function readLogLines(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^\d+\.log$/.test(name));
  names.sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10));
  const texts = await Promise.all(names.map(async (name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap(toLines);
}

/** Of CRI's format: `<time> stdout F <text>`, `P` where a line goes on. Both streams, as they were written. */
export function toLines(raw: string): string[] {
  const lines: string[] = [];
  const open = new Map<string, string>();
  for (const [, stream, tag, text] of raw.matchAll(/^\S+ (stdout|stderr) ([FP])\S* ?(.*)$/gm)) {
    const whole = (open.get(stream!) ?? '') + text!;
    if (tag === 'P') open.set(stream!, whole);
    else lines.push(whole);
    if (tag === 'F') open.delete(stream!);
  }
  return [...lines, ...open.values()];
}
