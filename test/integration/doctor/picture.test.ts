import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { formatPod } from '#kube/pod/pod-ref.js';
import { drawTerminal, type PictureLine, wrapLine } from '#support/pictures/terminal-picture.js';
import { SickNode } from './sick-node.js';

const PICTURE = new URL('../../../docs/images/doctor.svg', import.meta.url);
const COLUMNS = 100;
const SEVERITIES = { CRITICAL: 'red', WARNING: 'yellow' } as const;

/** Draws the finding that the program printed; ids are cut short. */
function draw(output: string): string {
  // In front of it stands where it looked, behind it what it could not see.
  const [, finding = ''] = output.split('\n\n');
  const lines = finding
    .split(/^Not seen:/m)[0]!
    .trimEnd()
    .replaceAll(/[0-9a-f]{24,}/g, (id) => `${id.slice(0, 12)}…`)
    .split('\n')
    .flatMap((line) => wrapLine(line, COLUMNS))
    .map((text): PictureLine => {
      const word = Object.keys(SEVERITIES).find((each) => text.startsWith(each)) as
        keyof typeof SEVERITIES | undefined;
      if (word !== undefined)
        return { text, marks: [{ begin: 0, end: word.length, colour: SEVERITIES[word], isBold: true }] };
      const label = /^ +(evidence|what to do):/.exec(text);
      if (label === null) return { text };
      return { text, marks: [{ begin: 0, end: label[0].length, colour: 'grey', isBold: true }] };
    });
  return drawTerminal('sudo podloop doctor', lines);
}

// `PODLOOP_PICTURES=1` draws it again.
it('the picture of the doctor shows what it prints of a pod that hangs', async () => {
  await using sick = await SickNode.start({ pods: 20, containersPerPod: 2, seed: 'picture' });
  const [web] = await sick.node.control.pods();
  sick.node.replaceRules(
    `rules:\n  - {name: stuck, match: {methods: [ContainerStatus], pods: [${formatPod(web!)}]}, fault: {type: hang}}\n`,
  );
  const { stdout } = await sick.examineAsText();
  const picture = draw(stdout);
  if (process.env['PODLOOP_PICTURES'] !== undefined) await writeFile(PICTURE, picture);
  // Times differ from run to run.
  const words = (svg: string): string[] =>
    [...svg.matchAll(/>([^<>]+)<\/text>/g)].map(([, text]) => text!.replaceAll(/[\d.]+(ms|s)\b/g, '0s'));
  expect(words(picture).join(' ')).toContain(formatPod(web!));
  const committed = await readFile(PICTURE, 'utf8');
  expect(words(committed).join(' ')).toBe(words(picture).join(' '));
});
