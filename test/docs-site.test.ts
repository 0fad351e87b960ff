/**
 * The pages as a web site: whole, linked, and without a server or a network.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listFiles, readText, REPOSITORY } from './source-tree.js';

const LIMIT_MS = 240_000;

describe('the site of npm run docs:site', () => {
  let site: string;
  /** By their paths below the site. */
  const pages = new Map<string, string>();

  beforeAll(async () => {
    site = await mkdtemp(path.join(tmpdir(), 'podloop-site-test-'));
    await promisify(execFile)(process.execPath, ['scripts/docs-site.mjs', site], { cwd: REPOSITORY });
    for (const file of await readdir(site, { recursive: true }))
      if (file.endsWith('.html')) pages.set(file, await readFile(path.join(site, file), 'utf8'));
  }, LIMIT_MS);

  afterAll(async () => {
    await rm(site, { recursive: true, force: true });
  });

  it('has every page of docs, under its heading', () => {
    const titles = [...pages.values()].map((text) =>
      toText(/<h1\b[^>]*>([^]*?)<\/h1>/.exec(text)?.[1] ?? ''),
    );
    const missing = listFiles('docs', '.md').filter((file) => {
      const heading = /^# (.+)$/m.exec(readText(`docs/${file}`))?.[1] ?? '';
      return !titles.includes(toText(heading.replaceAll('`', '')));
    });
    expect(missing).toEqual([]);
  });

  it('has every page, picture and anchor that its pages link to', () => {
    const lost: string[] = [];
    for (const [page, text] of pages) {
      for (const [, to] of text.matchAll(/<(?:a|img|link|script)\b[^>]*? (?:href|src)="([^"]+)"/g)) {
        if (/^(https?:|mailto:|data:)/.test(to!)) continue;
        const [file = '', anchor] = decodeURIComponent(to!).split('#');
        const linked = file === '' ? page : path.join(path.dirname(page), file);
        const there = pages.get(linked);
        const isThere = existsSync(path.join(site, linked));
        if (!isThere || (anchor && there?.includes(` id="${anchor}"`) === false))
          lost.push(`${page}: ${to!}`);
      }
    }
    expect(lost).toEqual([]);
  });

  it('takes scripts, styles and pictures from nowhere else', () => {
    const elsewhere = [...pages].filter(
      ([, text]) =>
        /<(?:script|img|iframe)\b[^>]* src="(?:https?:)?\/\//.test(text) ||
        /<link\b[^>]* href="(?:https?:)?\/\//.test(text),
    );
    expect(elsewhere.map(([page]) => page)).toEqual([]);
  });

  it('finds words of pages', async () => {
    // The index is in a script, so that it is loaded from a disk as well.
    const script = await readFile(path.join(site, 'assets/search.js'), 'utf8');
    const [, base64] = /"([\w+/=]+)"/.exec(script) ?? [];
    const index = await new Response(
      new Blob([Buffer.from(base64!, 'base64')]).stream().pipeThrough(new DecompressionStream('deflate')),
    ).text();
    const words = ['podloopfilesnearlyusedup', 'nvm', 'glossary'];
    expect(words.filter((word) => !index.includes(`["${word}",`))).toEqual([]);
  });
});

/** Without tags, and with the characters that HTML writes in other ways. */
function toText(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .trim();
}
