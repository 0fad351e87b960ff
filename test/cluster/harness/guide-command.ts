import { readFile } from 'node:fs/promises';

const GUIDE = new URL('../../../docs/guides/from-one-machine-to-a-cluster.md', import.meta.url);

/**
 * The options of the `podloop run` that the guide to clusters shows below a heading, with words of the test in place of some.
 * Rejects when there is none, or no such word in it.
 */
export async function readGuideCommand(
  heading: string,
  replacements: ReadonlyMap<string, string>,
): Promise<string[]> {
  const guide = await readFile(GUIDE, 'utf8');
  const section = guide.split(/^#+ /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  const [, command] = /^podloop run ((?:.*\\\n)*.*)$/m.exec(section) ?? [];
  if (command === undefined) throw new Error(`the guide shows no podloop run below ${heading}`);
  const words = command.split(/[\s\\]+/);
  const lost = [...replacements.keys()].filter((word) => !words.includes(word));
  if (lost.length > 0) throw new Error(`the guide no longer says ${lost.join(', ')}`);
  return words.map((word) => replacements.get(word) ?? word);
}
