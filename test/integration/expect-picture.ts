import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { drawTerminal, type PictureLine } from '#support/pictures/terminal-picture.js';

const IMAGES = new URL('../../docs/images/', import.meta.url);

/** A picture on a page, and what has to be in it. */
export interface ExpectedPicture {
  /** Of the file in docs/images, without its ending. */
  readonly name: string;
  readonly command: string;
  readonly lines: readonly PictureLine[];
  readonly rows: readonly RegExp[];
}

/**
 * The rows have to be in what a terminal shows now, and in the picture on the page. `PODLOOP_PICTURES=1` draws that again.
 *
 * Times and the order of what happens differ from run to run, so that only some rows are compared.
 */
export async function expectPicture({ name, command, lines, rows }: ExpectedPicture): Promise<void> {
  const file = new URL(`${name}.svg`, IMAGES);
  // What a screen leaves empty is not drawn.
  const end = lines.findLastIndex(({ text }) => text.trim() !== '') + 1;
  const drawn = drawTerminal(command, lines.slice(0, end));
  if (process.env['PODLOOP_PICTURES'] !== undefined) await writeFile(file, drawn);
  for (const picture of [drawn, await readFile(file, 'utf8')])
    for (const row of rows) expect(rowsOf(picture)).toMatch(row);
}

/** What stands in a picture, row by row. */
function rowsOf(svg: string): string {
  const rows = new Map<string, string[]>();
  for (const [, y, words] of svg.matchAll(/<text x="[\d.]+" y="(\d+)"[^>]*>([^<]*)<\/text>/g))
    rows.set(y!, [...(rows.get(y!) ?? []), words!]);
  return [...rows.values()].map((words) => words.join(' ')).join('\n');
}
