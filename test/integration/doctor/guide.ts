import { readFile } from 'node:fs/promises';

/** A row of the table of docs/guides/pleg-is-not-healthy.md. */
export interface GuideRow {
  readonly cause: string;
  /** A rules file of podloop chaos; undefined where the cause is made in another way. */
  readonly rules: string | undefined;
  /** What the column of the kubelet has between backquotes: metrics, words, commands. */
  readonly shown: readonly string[];
  /** The code that the doctor's first finding has. */
  readonly code: string;
  /** The call that it names; undefined when it names none. */
  readonly call: string | undefined;
}

/** Reads the causes that the guide has in its chapter of that name; the results of real incidents stand in another one. */
export async function readGuide(): Promise<readonly GuideRow[]> {
  const page = await readFile(
    new URL('../../../docs/guides/pleg-is-not-healthy.md', import.meta.url),
    'utf8',
  );
  const [, chapter = ''] = /^## The causes\n(.*?)^## /ms.exec(page) ?? [];
  const [, ...rows] = chapter.split('\n').filter((line) => line.startsWith('| '));
  return rows
    .filter((row) => !row.startsWith('| ---'))
    .map((row) => {
      const [cause = '', how = '', shows = '', says = ''] = row
        .split('|')
        .slice(1)
        .map((cell) => cell.trim());
      const rule = /`(\{.*?\})`/.exec(how)?.[1];
      const [code = '', call] = [...says.matchAll(/`(\w+)`/g)].map(([, word]) => word!);
      const shown = [...shows.matchAll(/`([^`]+)`/g)].map(([, word]) => word!);
      return { cause, code, call, shown, rules: rule === undefined ? undefined : `rules:\n  - ${rule}\n` };
    });
}
