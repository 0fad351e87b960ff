import { describe, expect, it } from 'vitest';
import { findLinesWithoutKeys, KUBELET_LINES } from './kubelet-words.js';
import { listFiles, readText } from './source-tree.js';

describe('the kubelet’s lines', () => {
  it('are in the source where podloop says the same', () => {
    const files = listFiles('src', '.ts').filter((file) => !file.endsWith('.test.ts'));
    const source = files.map((file) => readText(`src/${file}`)).join('\n');
    // Those that are put together.
    const made = (message: string): string =>
      message
        .replace(/^SyncLoop [A-Z]+$/, 'SyncLoop ${type}')
        .replace(/^\w+ from runtime/, '${method} from ${service}');
    const said = KUBELET_LINES.filter((line) => line.instead === undefined);
    expect(
      said.filter(({ message }) => !source.includes(made(message))).map(({ message }) => message),
    ).toEqual([]);
    expect(said.length).toBeGreaterThan(50);
  });

  it('are in docs/reference/log-lines.md with their keys, and what podloop says instead', () => {
    const page = readText('docs/reference/log-lines.md');
    const rows = [...page.matchAll(/^\| `([^|]+)` +\| ([^|]*?) *\| ([^|]*?) *\|$/gm)].map(
      ([, ...cells]) => cells,
    );
    expect(rows).toEqual(
      KUBELET_LINES.map(({ message, level, keys, instead }) =>
        instead === undefined
          ? [message, String(level), keys.map((key) => `\`${key}\``).join(', ')]
          : [message, '', instead],
      ),
    );
  });

  it('are told from others, with a volume’s name behind them too', () => {
    const head = 'I1122 15:00:00.000000       1 x.js:1]';
    const lines = [
      `${head} "RemoveContainer" containerID="c"`,
      `${head} "RemoveContainer" pod="n/p"`,
      `${head} "MountVolume.SetUp succeeded for volume \\"data\\"" pod="n/p" podUID="u"`,
      `${head} "MountVolume.SetUp succeeded for volume \\"data\\"" pod="n/p"`,
      `${head} "Another" err="x"`,
    ];
    expect(findLinesWithoutKeys(lines)).toEqual([lines[1], lines[3]]);
  });
});
